import { readFileSync, statSync } from "node:fs";
import { CountedRelayClaims } from "../app/payments/gasless/relay-claims.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ChainLookupLimit } from "../app/payments/chain-lookup-limit.ts";
import { GaslessRelay } from "../app/payments/gasless/relay.ts";
import type { Sponsor } from "../app/payments/gasless/relay-port.ts";
import { type ServeConfig, ConfigError, type Config } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { SolanaRelayChain, type SolanaChain } from "../solana/index.ts";
import type { GaslessSponsor } from "../payments/gasless/index.ts";
import type { Findings } from "../postgres/database/start-checks.ts";
import type { SolanaRpc } from "../solana/rpc/rpc.ts";

export interface RelayParts {
  readonly config: ServeConfig;
  /** Undefined without a fee payer: gasless is off. */
  readonly sponsor: Sponsor | undefined;
  readonly postgres: Postgres;
  readonly chain: SolanaChain;
  readonly proofs: ChainLookupLimit;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Aborts when a shutdown's grace period ends. */
  readonly stopping: AbortSignal;
}

/** The gasless relay and the chain access of its background jobs. */
export interface OpenRelay {
  readonly relay: GaslessRelay;
  readonly chain: SolanaRelayChain;
}

/** Creates the gasless relay; undefined when it is off. */
export function openRelay({ config, sponsor, postgres, chain, ...rest }: RelayParts): OpenRelay | undefined {
  if (!sponsor) return undefined;
  // 0 while gasless is off: then nothing can be low.
  rest.metrics.set("toolgate_fee_payer_low_lamports", config.GASLESS_LOW_LAMPORTS);
  rest.metrics.set("toolgate_relay_lamports_limit", config.GASLESS_DAILY_LAMPORTS);
  const relayChain = new SolanaRelayChain(chain.rpc);
  const relay = new GaslessRelay({
    sponsor,
    claims: new CountedRelayClaims(postgres.relays, rest.metrics),
    chain: relayChain,
    clock: postgres.clock,
    limits: {
      dailyLamports: BigInt(config.GASLESS_DAILY_LAMPORTS),
      perAccountHourly: config.GASLESS_PER_ACCOUNT_HOURLY,
      failuresHourly: config.GASLESS_FAILURES_HOURLY,
    },
    minimum: BigInt(config.GASLESS_MINIMUM_MICROUSD),
    waitMs: config.PAYMENT_WAIT_MS,
    lookupLimit: rest.proofs,
    log: rest.log,
    stopping: rest.stopping,
  });
  return { relay, chain: relayChain };
}

export type FeePayerConfig = Pick<Config, "FEE_PAYER_KEYPAIR" | "MEMO_PREFIX" | "GASLESS_LOW_LAMPORTS"> &
  Partial<
    Pick<
      Config,
      "FEE_PAYER_SIGNER" | "FEE_PAYER_SIGNER_CA" | "FEE_PAYER_SIGNER_TOKEN" | "FEE_PAYER_SIGNER_TIMEOUT_MS"
    >
  > & {
    readonly TREASURY_OWNER: string;
  };

/** Permission bits of group and others. */
const OTHERS = 0o077;

const KEY_FILE_HINT = "set a key file of solana-keygen, or unset it to turn gasless off";

/**
 * Reads the fee payer's key, or asks its external signer. Errors never contain the file's content.
 * @returns undefined when the relay is off
 * @throws ConfigError when the file is invalid, or the signer does not answer
 */
export async function openSponsor(config: FeePayerConfig): Promise<GaslessSponsor | undefined> {
  const { FEE_PAYER_KEYPAIR: file, MEMO_PREFIX: memoPrefix, TREASURY_OWNER: treasuryOwner } = config;
  const { FEE_PAYER_SIGNER: signer, FEE_PAYER_SIGNER_CA: authority } = config;
  if (file === undefined && signer === undefined) return undefined;
  if (file !== undefined && signer !== undefined)
    throw new ConfigError(["FEE_PAYER_SIGNER: FEE_PAYER_KEYPAIR is set too; remove one of them"]);
  const { ExternalSigner, GaslessSponsor, readFeePayer } = await import("../payments/gasless/index.ts");
  try {
    if (file !== undefined)
      return new GaslessSponsor({
        feePayer: readFeePayer(readSetting("FEE_PAYER_KEYPAIR", file, KEY_FILE_HINT)),
        treasuryOwner,
        memoPrefix,
      });
    const feePayer = await ExternalSigner.open({
      url: signer ?? "",
      token: config.FEE_PAYER_SIGNER_TOKEN,
      ca:
        authority === undefined
          ? undefined
          : readSetting("FEE_PAYER_SIGNER_CA", authority, "set a file of PEM certificates"),
      timeoutMs: config.FEE_PAYER_SIGNER_TIMEOUT_MS ?? 2_000,
    });
    return new GaslessSponsor({ feePayer, setting: "FEE_PAYER_SIGNER", treasuryOwner, memoPrefix });
  } catch (error) {
    // Only the check's own message is safe; any other error may quote the key.
    throw error instanceof TypeError ? new ConfigError([error.message]) : error;
  }
}

/**
 * Checks that the fee payer can pay: the key is readable by its owner only and holds SOL.
 * @param rpc other checks report endpoint failures, so this one ignores them
 */
export async function checkFeePayer(
  config: FeePayerConfig,
  rpc: SolanaRpc,
  signal: AbortSignal,
): Promise<Findings> {
  const { FEE_PAYER_KEYPAIR: file, GASLESS_LOW_LAMPORTS: low } = config;
  try {
    const sponsor = await openSponsor(config);
    if (!sponsor) return { problems: [], warnings: [] };
    const setting = file === undefined ? "FEE_PAYER_SIGNER" : "FEE_PAYER_KEYPAIR";
    const warnings =
      file !== undefined && readableByOthers(file)
        ? [`FEE_PAYER_KEYPAIR: other users can read ${file}; run chmod 600 ${file}`]
        : [];
    const balance = await new SolanaRelayChain(rpc).balance(sponsor.feePayer, signal).catch(() => undefined);
    const holds = `${setting}: ${sponsor.feePayer} holds`;
    if (balance === 0n)
      return { problems: [`${holds} no SOL; send it some, or unset it to turn gasless off`], warnings };
    if (balance !== undefined && balance < BigInt(low)) {
      warnings.push(
        `${holds} ${balance} lamports, less than GASLESS_LOW_LAMPORTS (${low}); send it some SOL`,
      );
    }
    return { problems: [], warnings };
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, warnings: [] };
    throw error;
  }
}

function readSetting(setting: string, file: string, hint: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new ConfigError([`${setting}: ${file} cannot be read (${code}); ${hint}`]);
  }
}

function readableByOthers(file: string): boolean {
  return (statSync(file).mode & OTHERS) !== 0;
}
