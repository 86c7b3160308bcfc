import { fingerprint } from "../../src/domain/fingerprint.ts";
import { query } from "../support/database-server.ts";
import { filledHolders, filledKey, filledNumber, fillLedger } from "../postgres/large-ledger.ts";
import { PAID_CALL } from "./http-request.ts";
import type { World } from "./world.ts";

/** API keys that calls are spread over, and old records that are replayed, at most. */
const [KEYS, REPLAYS] = [2_000, 500];

/** A ledger that was used for long, and what to call with. */
export interface GrownLedger {
  readonly transfers: number;
  readonly url: string;
  /** Of accounts with money. The first one's account has every fourth receipt. */
  readonly keys: readonly string[];
  /** Calls that were answered long ago, with their keys. */
  readonly replays: readonly Replay[];
}

interface Replay {
  readonly key: string;
  readonly idempotencyKey: string;
}

/** Makes one of that size, analysed as the database's own upkeep would have done by then. */
export async function growLedger(world: World, transfers: number, accounts: number): Promise<GrownLedger> {
  const url = await world.createDatabase(`grown_${transfers}`);
  await fillLedger(url, transfers, accounts);
  return useLedger(url, transfers, accounts);
}

/** What to call a filled ledger with. */
async function useLedger(url: string, transfers: number, accounts: number): Promise<GrownLedger> {
  const holders = filledHolders(transfers, accounts, KEYS);
  // Every key was used: buckets have a row for each.
  await query(url, "insert into rate_bucket (key_id, tat) select id, 0 from api_key on conflict do nothing");
  // Answers from all over the table; what they are of must be what is asked for again.
  const every = Math.max(1, Math.floor(transfers / 8 / REPLAYS));
  const { rows } = await query(
    url,
    `update idempotency set fingerprint = '\\x${fingerprint(PAID_CALL.tool, PAID_CALL.params).toString("hex")}'
     where state = 'done' and expires_at < 'infinity' and substr(key, 5)::bigint / 3 % ${every} = 0
     returning account_id, key`,
  );
  await query(url, "vacuum analyze");
  await query(url, "checkpoint");
  return {
    transfers,
    url,
    keys: holders.map(filledKey),
    replays: rows.slice(0, REPLAYS).map(({ account_id, key }) => ({
      key: filledKey(filledNumber(account_id)),
      idempotencyKey: key.slice("key:".length),
    })),
  };
}
