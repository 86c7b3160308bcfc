import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { PaymentVerdict } from "../app/payments/payment-verifier.ts";
import type { LookupResult, ChainLookupLimit } from "../app/payments/chain-lookup-limit.ts";
import type { Relay } from "../app/payments/gasless/relay-port.ts";
import type { TreasuryChain } from "../app/treasury/treasury-chain.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Cell } from "../domain/core/cell.ts";
import { Quotes } from "../domain/payments/quote.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import type { PaymentPorts } from "./payment-methods.ts";
import type { ToolParts } from "./tool-parts.ts";

/** Dependencies of tool calls and the ports of the payment methods. */
export type CallPorts = Omit<CallToolDeps, "payments"> & PaymentPorts;

export interface PaymentParts {
  readonly cell: Cell;
  /** Undefined when gasless is off. */
  readonly relay: Relay | undefined;
  /** Limits chain lookups for proofs that do not verify. */
  readonly proofs: ChainLookupLimit;
  readonly treasury: Pick<TreasuryChain, "finalityStatuses">;
}

/**
 * Creates the dependencies of tool calls.
 * @param stopping aborts when a shutdown's grace period ends
 */
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
    unpaidWork: parts.unpaidWork,
    // A call that waits for its transaction has run nothing yet, so a shutdown may abort it.
    chain: {
      verify: ({ txSignature, accountId, signal }) => {
        const verify = () => chain.verify({ txSignature, signal: AbortSignal.any([signal, stopping]) });
        return accountId === undefined ? verify() : proofs.run(accountId, verify, foundBy);
      },
    },
    quotes: new Quotes(postgres.sealingKeys, systemClock, systemRandom, config.QUOTE_TTL_SECONDS, cell),
    clock: systemClock,
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
