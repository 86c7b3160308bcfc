import os from "node:os";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { PaymentVerdict } from "../app/payments/payment-methods.ts";
import type { LookupResult, ChainLookupLimit } from "../app/payments/chain-lookup-limit.ts";
import type { Relay } from "../app/payments/gasless/relay-port.ts";
import type { TreasuryChain } from "../app/treasury/treasury-ledger.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Cell } from "../domain/core/ids.ts";
import { Quotes } from "../domain/payments/quote.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemRandom } from "../system.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { UnpaidWork } from "../app/calls/unpaid-work.ts";
import type { Log } from "../domain/core/log.ts";
import type { SandboxDeps } from "../tools/built-in.ts";
import type { PaymentPorts } from "./payment-methods.ts";
import { ConfigFollower, Reloader } from "./config-follower.ts";
import { type EngineOpener, openSandbox } from "./sandbox.ts";
import { startVersion } from "./start-version.ts";
import { ToolOpener } from "./tool-version.ts";

export type CallPorts = Omit<CallToolDeps, "payments"> & PaymentPorts;

interface PaymentParts {
  readonly cell: Cell;
  /** Undefined when gasless is off. */
  readonly relay: Relay | undefined;
  readonly proofs: ChainLookupLimit;
  readonly treasury: Pick<TreasuryChain, "finalityStatuses">;
}

/** Creates the dependencies of tool calls. @param stopping aborts when a shutdown's grace period ends */
export function callPorts(
  config: ServeConfig,
  postgres: Postgres,
  chain: SolanaChain,
  parts: ToolParts,
  { cell, relay, proofs, treasury }: PaymentParts,
  stopping: AbortSignal,
): CallPorts {
  return {
    catalogue: parts.configuration.catalogue,
    ledger: postgres.ledger,
    wallets: postgres.walletAccounts,
    unpaidWork: parts.unpaidWork,
    // A call that waits for its transaction has run nothing yet, so a shutdown may abort it.
    chain: {
      verify: ({ txSignature, accountId, signal }) => {
        const verify = () => chain.verify({ txSignature, signal: AbortSignal.any([signal, stopping]) });
        return accountId === undefined ? verify() : proofs.run(accountId, verify, foundBy);
      },
    },
    quotes: new Quotes(postgres.sealingKeys, postgres.clock, systemRandom, config.QUOTE_TTL_SECONDS, cell),
    clock: postgres.clock,
    random: systemRandom,
    cell,
    relay,
    claims: postgres.relays,
    treasury: chain.treasury,
    memoPrefix: config.MEMO_PREFIX,
    finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
    gaslessMinimum: BigInt(config.GASLESS_MINIMUM_MICROUSD),
    finality: treasury,
    stopping,
  };
}

function foundBy({ kind }: PaymentVerdict): LookupResult {
  if (kind === "paid") return "payment";
  return kind === "not_finalized" ? "something" : "nothing";
}

export interface ToolParts {
  /** The catalogue, which follows the configuration in force. */
  readonly configuration: ConfigFollower;
  /** Changes the configuration while calls run. */
  readonly reloader: Reloader;
  readonly sandbox: SandboxDeps | undefined;
  /** Limits the work for calls that are not charged. */
  readonly unpaidWork: UnpaidWork;
  /** Starts the background jobs after the servers listen. */
  start(): void;
  /** Closes connections and ends processes. */
  close(): Promise<void>;
}

/**
 * Opens the tools of the configuration in force.
 * @param isServing whether calls of others are served while the sandbox is tested
 * @throws ConfigError when this instance cannot use it; closes the database first
 */
export async function openToolParts(
  config: ServeConfig,
  postgres: Postgres,
  metrics: Metrics,
  log: Log,
  isServing: boolean,
  openEngine?: EngineOpener,
): Promise<ToolParts> {
  const { configVersions: versions } = postgres;
  const actor = `instance:${os.hostname()}`;
  const first = await startVersion(config, { versions, actor, log }).catch(async (error: unknown) => {
    await postgres.close();
    throw error;
  });
  const current = { ...config, sandbox: first.resolved.sandbox };
  const sandbox = await openSandbox(current, postgres, metrics, log, isServing, openEngine);
  const balance = (accountId: string) => postgres.ledger.balance(accountId);
  const opener = new ToolOpener({ balance, sandbox: sandbox?.deps, metrics, log });
  const configuration = await ConfigFollower.open(first, { versions, opener, config, metrics, log });
  return {
    configuration,
    reloader: new Reloader(config, first.resolved.sandbox, { configuration, versions, actor, log }),
    sandbox: sandbox?.deps,
    unpaidWork: new UnpaidWork(postgres.unpaidWork, metrics),
    start: () => {
      configuration.start();
      sandbox?.start();
    },
    close: async () => {
      await Promise.all([configuration.close(), sandbox?.close()]);
    },
  };
}
