import { base58 } from "@scure/base";
import type { Pool } from "pg";
import type {
  NewRelayClaim,
  RelayClaims,
  RelayBudget,
  RelayClaim,
  RelayLimits,
  RelayQuota,
  RelayState,
  RelayVerdict,
} from "../../app/payments/gasless/relay-claims.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { signatureFrom, uuidFromId } from "../database/row-mapping.ts";

interface ClaimRow {
  message_hash: Buffer;
  quote_id: string;
  tx_signature: Buffer;
  signed_transaction: Buffer;
  last_valid_block_height: bigint;
  state: RelayState;
  reason: string | null;
  claimed_at: Date;
}

type VerdictRow = ClaimRow & {
  kind: "claimed" | "known" | "quote_taken" | RelayQuota | RelayBudget;
  wait_s: number;
};

const COLUMNS =
  "message_hash, quote_id, tx_signature, signed_transaction, last_valid_block_height, state, reason, " +
  "claimed_at";

/** Claims without an outcome, unchanged for $1 ms; at most $2. */
const UNFINISHED = `
  select ${COLUMNS} from relay
  where state in ('claimed', 'broadcast', 'unknown')
    and moved_at <= clock_timestamp() - $1 * interval '1 millisecond'
  order by moved_at limit $2`;

/** Relay claims on PostgreSQL. The SQL functions `relay_*` hold the rules. */
export class PostgresRelays implements RelayClaims {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async find(messageHash: Buffer): Promise<RelayClaim | undefined> {
    const text = `select ${COLUMNS} from relay where message_hash = $1`;
    const [row] = await queryWithRetry<ClaimRow>(this.#pool, {
      name: "relay-find",
      text,
      values: [messageHash],
    });
    return row && claimOf(row);
  }

  /**
   * A retry after a lost response returns this call's own claim as "known", which is as good as "claimed".
   */
  async claim(claim: NewRelayClaim, limits: RelayLimits): Promise<RelayVerdict> {
    const [row] = await queryWithRetry<VerdictRow>(this.#pool, {
      name: "relay-claim",
      text: `select kind, wait_s, (taken).* from relay_claim(
               row($1, $2, $3, $4, $5, $6, $7, $8, 'claimed', null, now(), now())::relay, $9, $10, $11)`,
      values: [
        claim.messageHash,
        claim.quoteId,
        uuidFromId("acct", claim.accountId),
        uuidOf("key", claim.keyId) ?? null,
        signatureFrom(claim.txSignature),
        Buffer.from(claim.signedTransaction),
        claim.feeLamports,
        claim.lastValidBlockHeight,
        limits.dailyLamports,
        limits.perAccountHourly,
        limits.failuresHourly,
      ],
    });
    if (!row) throw new Error("relay_claim returned no row");
    return verdictOf(row);
  }

  async reject(messageHash: Buffer, reason: string): Promise<boolean> {
    const [row] = await queryWithRetry<{ rejected: boolean }>(this.#pool, {
      name: "relay-reject",
      text: "select relay_reject($1, $2) as rejected",
      values: [messageHash, textFrom(reason)],
    });
    return row?.rejected === true;
  }

  async move(messageHash: Buffer, state: Exclude<RelayState, "claimed">, reason?: string): Promise<boolean> {
    const [row] = await queryWithRetry<{ moved: boolean }>(this.#pool, {
      name: "relay-move",
      text: "select relay_move($1, $2, $3) as moved",
      values: [messageHash, state, textFrom(reason)],
    });
    return row?.moved === true;
  }

  async unfinished(idleMs: number, limit: number): Promise<RelayClaim[]> {
    const query = { name: "relay-unfinished", text: UNFINISHED, values: [idleMs, limit] };
    return (await queryWithRetry<ClaimRow>(this.#pool, query)).map(claimOf);
  }

  async spentToday(): Promise<bigint> {
    const [row] = await queryWithRetry<{ lamports: bigint }>(this.#pool, {
      name: "relay-spent",
      text: "select lamports from relay_budget where day = (clock_timestamp() at time zone 'utc')::date",
      values: [],
    });
    return row?.lamports ?? 0n;
  }
}

/** PostgreSQL text excludes NUL and lone surrogates. */
function textFrom(reason: string | undefined): string | null {
  return reason?.replaceAll("\0", "").toWellFormed() ?? null;
}

function verdictOf(row: VerdictRow): RelayVerdict {
  switch (row.kind) {
    case "claimed":
    case "known":
      return { kind: row.kind, claim: claimOf(row) };
    case "quote_taken":
      return { kind: "quote_taken", txSignature: base58.encode(row.tx_signature) };
    case "budget":
    case "reserve":
      return { kind: "budget", of: row.kind, retryAfterSeconds: row.wait_s };
    case "transactions":
    case "failures":
    case "open":
    case "unproven":
      return { kind: "quota", of: row.kind, retryAfterSeconds: row.wait_s };
  }
}

function claimOf(row: ClaimRow): RelayClaim {
  return {
    messageHash: row.message_hash,
    quoteId: row.quote_id,
    txSignature: base58.encode(row.tx_signature),
    signedTransaction: row.signed_transaction,
    state: row.state,
    reason: row.reason ?? undefined,
    lastValidBlockHeight: row.last_valid_block_height,
    claimedAt: row.claimed_at.getTime(),
  };
}
