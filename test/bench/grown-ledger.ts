import { newApiKey } from "../../src/domain/accounts/api-key.ts";
import { fingerprint } from "../../src/domain/calls/call-context.ts";
import { systemRandom } from "../../src/system.ts";
import { query } from "../support/database-server.ts";
import { filledHolders, filledNumber } from "../postgres/large-ledger.ts";
import { PAID_CALL } from "./http-request.ts";

/** API keys that calls are spread over, and old answers that are replayed, at most. */
const [KEYS, REPLAYS] = [2_000, 500];

/** What to call a filled ledger with. */
export interface GrownLedger {
  /** Of accounts with money. The first one's account has every fourth receipt. */
  readonly keys: readonly string[];
  /** Calls that were answered long ago, with their API keys. */
  readonly replays: readonly { readonly key: string; readonly idempotencyKey: string }[];
}

/** Makes credentials for a ledger of fillLedger, and analyses it. */
export async function useLedger(url: string, transfers: number, accounts: number): Promise<GrownLedger> {
  const holders = filledHolders(transfers, accounts, KEYS);
  // Every key was used: buckets have a row for each.
  await query(
    url,
    `insert into rate_bucket (bucket_id, tat) select id, 0 from api_key union select id, 0
      from account on conflict do nothing`,
  );
  // Answers from the whole table, requested again later.
  const every = Math.max(1, Math.floor(transfers / 8 / REPLAYS));
  const { rows } = await query(
    url,
    `update idempotency set fingerprint =
        '\\x${fingerprint(PAID_CALL.tool, PAID_CALL.params).toString("hex")}'
     where state = 'done' and expires_at < 'infinity' and substr(key, 5)::bigint / 3 % ${every} = 0
     returning account_id, key`,
  );
  const replays = rows.slice(0, REPLAYS);
  // Gateways would count it beside the measurement.
  await query(url, "update usage_mark set counted_to = date_bin('15 minutes', now(), '2026-01-01Z')");
  const accountsOfKeys = new Set([...holders, ...replays.map(({ account_id }) => filledNumber(account_id))]);
  const keys = await giveKeys(url, [...accountsOfKeys]);
  const keyOf = (account: number) => keys.get(account) ?? "";
  await query(url, "vacuum analyze");
  await query(url, "checkpoint");
  return {
    keys: holders.map(keyOf),
    replays: replays.map(({ account_id, key }) => ({
      key: keyOf(filledNumber(account_id)),
      idempotencyKey: key.slice("key:".length),
    })),
  };
}

/** Signs keys of accounts with a secret that the database's gateways accept. @returns them by account */
async function giveKeys(url: string, accounts: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const secret = Buffer.from(systemRandom.bytes(32));
  await query(
    url,
    `insert into api_key_secret (version, secret, active_from)
        values (1, '\\x${secret.toString("hex")}', now())
     on conflict (version) do update set secret = excluded.secret`,
  );
  const keys = new Map(accounts.map((account) => [account, newApiKey({ version: 1, secret }, systemRandom)]));
  const pairs = Array.from(keys, ([account, key]) => `('wallet ${account}', '${key}')`).join(", ");
  await query(
    url,
    `update api_key set sha256 = sha256(given.key::bytea), secret_version = 1
     from (values ${pairs}) given (wallet, key) join account using (wallet)
       where api_key.account_id = account.id`,
  );
  return keys;
}
