import pg from "pg";
import { SYSTEM_ACCOUNTS } from "../../src/postgres/system-accounts.ts";

const { treasury, revenue, adjustments } = SYSTEM_ACCOUNTS;

/** How many of each there are in a ledger of so many transfers. */
function sharesOf(transfers: number) {
  const share = (part: number) => Math.max(4, Math.floor(transfers * part));
  const [accounts, deposits, refunds] = [share(0.001), share(0.2), share(0.01)];
  // Half of the deposits pay a call, the others were credited only; each account began with an adjustment.
  return {
    accounts,
    deposits,
    settled: Math.floor(deposits / 2),
    refunds,
    charges: transfers - accounts - deposits - refunds,
  };
}

/** Identifiers that grow, as those that are made do. */
const id = (kind: number, n: string) => `(lpad(to_hex(${kind}), 8, '0') || lpad(to_hex(${n}), 24, '0'))::uuid`;
const account = (n: string, accounts: number) => id(1, `1 + (${n})::bigint * 7919 % ${accounts}`);
const run = (n: string) => id(2, n);
const signature = (n: string) => `sha512(int8send(${n}))`;
const fingerprint = (n: string) => `sha256(int8send(${n}))`;
const quote = (n: string) => `'qt_' || encode(${signature(n)}, 'hex')`;
const price = (n: string) => `(1000 + ${n} % 1000)`;
const at = (n: string) => `timestamptz '2026-01-01' + ${n} * interval '20 seconds'`;

/** An answer as long as that of a real call. */
const RESULT = `json_build_object('model', 'meta-llama/Llama-3.1-8B', 'note', repeat('x', 700))`;

/**
 * What fills an empty database with a ledger that could have come about by calls: deposits with their payments, calls paid by them and from
 * balances, failed, free and running ones, refunds. All sets, as a million calls would take an hour.
 */
function statements(transfers: number): string[] {
  const { accounts, deposits, settled, refunds, charges } = sharesOf(transfers);
  const failed = Math.floor(charges / 20);
  const free = Math.floor(charges / 20);
  const [firstFailed, firstFree] = [charges + 1, charges + failed + 1];
  const firstRunning = firstFree + free;
  const runs = firstRunning + 99;
  const status = `case when n < ${firstFailed} then 'completed' when n < ${firstFree} then 'failed' when n < ${firstRunning} then 'completed' else 'active' end`;
  const cost = `case when n between ${firstFree} and ${firstRunning - 1} then 0 else ${price("n")} end`;
  const paid = `n <= ${settled}`;
  // Every call that a payment paid for has a claim, and every third of the others has a key.
  const claimed = `${paid} or n % 3 = 0`;
  const claim = `case when ${claimed} then 'key:' || n end`;
  const calls = `generate_series(1, ${runs}) n`;
  return [
    `insert into account (id, wallet, rate_per_minute, burst) select ${id(1, "n")}, 'wallet ' || n, 60, 10 from generate_series(1, ${accounts}) n`,
    `insert into payment (tx_signature, account_id, quote_id, amount, settled, fingerprint, claim_key, slot, block_time, finalized, paid_by)
     select ${signature("n")}, ${account("n", accounts)}, ${quote("n")}, ${price("n")} + n % 10 / 9 * 500, ${paid},
            case when ${paid} then ${fingerprint("n")} end, case when ${paid} then 'key:' || n end, n, ${at("n")}, true, 'transfer'
     from generate_series(1, ${deposits}) n`,
    `insert into run (id, account_id, tool, status, lease_until, price, claim_key, quote_id, step_id, tx_signature, paid_by, created_at)
     select ${run("n")}, ${account("n", accounts)}, 'vram_estimate', ${status}, 'infinity', ${cost}, ${claim},
            case when ${paid} then ${quote("n")} end, case when ${paid} then 'step_' || n end, case when ${paid} then ${signature("n")} end,
            case when ${paid} then 'transfer' else 'balance' end, ${at("n")} from ${calls}`,
    `insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select ${account("n", accounts)}, 'key:' || n, ${fingerprint("n")},
            case ${status} when 'completed' then 'done' when 'failed' then 'retryable' else 'running' end, ${run("n")},
            case ${status} when 'completed' then ${RESULT} end, case when ${paid} then 'infinity' else now() + interval '2 days' end
     from ${calls} where ${claimed}`,
    `insert into hold (run_id, account_id, amount, state)
     select id, account_id, price, case status when 'completed' then 'captured' when 'failed' then 'released' else 'open' end from run where price > 0`,
    `insert into transfer (debit, credit, amount, kind, ref, created_at)
     select '${adjustments}', id, 5000000, 'adjustment', sha256(uuid_send(id)), ${at("0")} from account`,
    `insert into transfer (debit, credit, amount, kind, ref, created_at)
     select '${treasury}', account_id, amount, 'deposit', tx_signature, block_time from payment`,
    `insert into transfer (debit, credit, amount, kind, ref, created_at)
     select account_id, '${revenue}', price, 'charge', uuid_send(id), created_at from run where status = 'completed' and price > 0`,
    `insert into transfer (debit, credit, amount, kind, ref, created_at)
     select '${revenue}', account_id, price, 'refund', uuid_send(id), created_at from run where id <= ${run(String(refunds))}`,
    `insert into receipt (id, run_id, transfer_id, account_id, tool, quote_id, step_id, tx_signature, quoted, debited, paid_by, created_at)
     select run.id, run.id, transfer.id, run.account_id, tool, quote_id, step_id, tx_signature, price, price, paid_by, run.created_at
     from transfer join run on run.id = encode(ref, 'hex')::uuid where kind = 'charge'`,
    `update account set available = side.amount from (
       select account_id, sum(amount) as amount from (
         select credit as account_id, amount from transfer union all select debit, -amount from transfer
         union all select account_id, -amount from hold where state = 'open'
       ) entry group by account_id
     ) side where side.account_id = account.id`,
  ];
}

/** Fills an empty database with a ledger of that many transfers, in which every check of the audit holds. The planner's statistics are not made. */
export async function fillLedger(url: string, transfers: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements(transfers)) await client.query(statement);
  } finally {
    await client.end();
  }
}
