import { Operations } from "../app/operations/operations.ts";
import type { Config } from "../config/config.ts";
import type { Quotes } from "../domain/payments/quote.ts";
import type { Postgres } from "../postgres/index.ts";
import { SolanaStatus } from "../solana/index.ts";
import type { SolanaRpc } from "../solana/rpc/rpc.ts";
import type { Treasury } from "../solana/core/treasury.ts";
import { systemClock } from "../system.ts";

/** Dependencies of the operations service. */
export interface OperationsParts {
  readonly config: Pick<Config, "GASLESS_LOW_LAMPORTS" | "GASLESS_DAILY_LAMPORTS" | "WATCH_INTERVAL_MS">;
  readonly postgres: Postgres;
  readonly chain: { readonly rpc: SolanaRpc; readonly treasury: Treasury };
  readonly quotes: Pick<Quotes, "open">;
  /** The relay's fee payer, base58; undefined when gasless is off. */
  readonly feePayer: string | undefined;
}

/** Creates the operator's status and history queries. */
export function createOperations({
  config,
  postgres,
  chain,
  quotes,
  feePayer: address,
}: OperationsParts): Operations {
  const lowLamports = BigInt(config.GASLESS_LOW_LAMPORTS);
  const dailyLamports = BigInt(config.GASLESS_DAILY_LAMPORTS);
  return new Operations({
    chain: new SolanaStatus(chain.rpc, chain.treasury),
    queries: postgres.operations,
    treasuryLedger: postgres.treasuryLedger,
    treasury: chain.treasury,
    feePayer: address === undefined ? undefined : { address, lowLamports, dailyLamports },
    relays: postgres.relays,
    actions: postgres.operatorActions,
    lastAudit: postgres.lastAudit,
    quotes,
    clock: systemClock,
    watchIntervalMs: config.WATCH_INTERVAL_MS,
  });
}
