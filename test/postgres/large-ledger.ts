import pg from "pg";
import { SYSTEM_ACCOUNTS } from "../../src/postgres/system-accounts.ts";

const { treasury, revenue, suspense, adjustments, operator } = SYSTEM_ACCOUNTS;

/** Fills an empty database with a ledger of about that many transfers, in which every check of the audit holds. It is not analysed. */
export async function fillLedger(url: string, transfers: number): Promise<void> {
  const shares = sharesOf(transfers);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of [...rows(shares), ...books(shares)]) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** How many of each there are. */
type Shares = ReturnType<typeof sharesOf>;

function sharesOf(transfers: number) {
  const share = (part: number) => Math.max(4, Math.floor(transfers * part));
  const accounts = share(0.001);
  // Half of the deposits pay a call; the last ones lie in suspense, those before them were taken back, the others were credited only.
  const [deposits, suspended, reversed, withdrawals] = [share(0.2), share(0.002), share(0.0002), share(0.0002)];
  const refunds = share(0.01);
  const charges = transfers - accounts - deposits - Math.floor(suspended / 2) - reversed - withdrawals - refunds;
  return { accounts, deposits, settled: Math.floor(deposits / 2), suspended, reversed, withdrawals, refunds, charges };
}

/** Identifiers that grow, as those that are made do. */
const id = (kind: number, n: string) => `(lpad(to_hex(${kind}), 8, '0') || lpad(to_hex(${n}), 24, '0'))::uuid`;
const run = id(2, "n");
const signature = "sha512(int8send(n))";
const fingerprint = "sha256(int8send(n))";
const quote = `'qt_' || encode(${signature}, 'hex')`;
const depositUuid = "lpad(to_hex(n), 32, '0')";
const key = "'key:' || n";
const price = "(1000 + n % 1000)";
const at = "timestamptz '2026-01-01' + n * interval '20 seconds'";
const token = "sha256('the token account')";
/** Every account has a key of the same identifier; every second one may spend a million USD a day. */
const limited = (uuid: string) => `case when get_byte(uuid_send(${uuid}), 15) % 2 = 0 then 1000000000000 end`;
/** An answer as long as that of a real call. */
const result = "json_build_object('model', 'meta-llama/Llama-3.1-8B', 'note', repeat('x', 700))";

/** What calls and the watch of the treasury write, but for the transfers. In sets, as a million calls would take an hour. */
function rows({ accounts, deposits, settled, suspended, reversed, withdrawals, charges }: Shares): string[] {
  const account = id(1, `1 + n::bigint * 7919 % ${accounts}`);
  const paid = `n <= ${settled}`;
  // Every fourth of what was paid for was relayed.
  const relayed = `(${paid} and n % 4 = 0)`;
  const nobodys = `n > ${deposits - suspended}`;
  const back = `n > ${deposits - suspended - reversed} and not ${nobodys}`;
  // Every third of what was credited only names a deposit.
  const named = `(n > ${settled} and n <= ${deposits - suspended - reversed} and n % 3 = 0)`;
  // Charged calls first, then failed, free and running ones. What was paid for has a claim, and every third other call has a key.
  const [failed, free] = [Math.floor(charges * 1.05), Math.floor(charges * 1.1)];
  const status = `case when n <= ${charges} then 'completed' when n <= ${failed} then 'failed' when n <= ${free} then 'completed' else 'active' end`;
  const claimed = `(${paid} or n % 3 = 0)`;
  const calls = `generate_series(1, ${free + 100}) n`;
  return [
    `insert into account (id, wallet, rate_per_minute, burst) select ${id(1, "n")}, 'wallet ' || n, 60, 10 from generate_series(1, ${accounts}) n`,
    `insert into relay (message_hash, quote_id, account_id, key_id, tx_signature, signed_transaction, fee_lamports, last_valid_block_height, state, claimed_at, moved_at)
     select ${fingerprint}, ${quote}, ${account}, ${account}, ${signature}, ${signature}, 10400, n, 'confirmed', lately, lately
     from generate_series(1, ${deposits}) n, lateral (select now() - n % 20 * interval '1 day' as lately) at where ${relayed}`,
    `insert into relay_budget (day, lamports)
     select (claimed_at at time zone 'utc')::date, sum(fee_lamports) from relay group by 1`,
    `insert into payment (tx_signature, account_id, quote_id, amount, settled, fingerprint, claim_key, slot, block_time, finalized, paid_by, reversed, assigned_to)
     select ${signature}, case when ${nobodys} then '${suspense}' else ${account} end, case when ${named} then 'dep_' || ${depositUuid} when not ${nobodys} then ${quote} end,
            ${price} + n % 10 / 9 * 500, ${paid}, case when ${paid} then ${fingerprint} end, case when ${paid} then ${key} end, n, ${at},
            not (${back}), case when ${relayed} then 'gasless' else 'transfer' end, ${back}, case when ${nobodys} and n % 2 = 0 then ${account} end
     from generate_series(1, ${deposits}) n`,
    `insert into deposit (id, account_id, amount, reference, created_at)
     select ${depositUuid}::uuid, ${account}, 5, ${fingerprint}, ${at} from generate_series(1, ${deposits}) n where ${named}`,
    `insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
     select ${token}, tx_signature, slot, block_time, amount from payment where finalized`,
    `insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
     select ${token}, ${signature}, n, ${at}, -5 from generate_series(${deposits + 1}, ${deposits + withdrawals}) n`,
    `insert into treasury_watch (token_account, slot, opening_amount, opening_slot, expected)
     select ${token}, max(slot), 7, 0, 7 + sum(change) from treasury_movement`,
    `insert into api_key (id, account_id, sha256, prefix, name, scopes, day_limit, budget_id)
     select id, id, sha256(uuid_send(id)), '', '', '{}', ${limited("id")}, case when ${limited("id")} is not null then id end from account`,
    `insert into run (id, account_id, key_id, budget_id, started_at, tool, status, lease_until, price, claim_key, quote_id, step_id, tx_signature, paid_by, created_at)
     select ${run}, ${account}, ${account}, case when not (${paid}) and (n <= ${failed} or n > ${free}) and ${limited(account)} is not null then ${account} end, ${at}, 'vram_estimate', ${status}, 'infinity', case when n > ${failed} and n <= ${free} then 0 else ${price} end,
            case when ${claimed} then ${key} end, case when ${paid} then ${quote} end, case when ${paid} then 'step_' || n end,
            case when ${paid} then ${signature} end, case when ${relayed} then 'gasless' when ${paid} then 'transfer' else 'balance' end, ${at} from ${calls}`,
    `insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select ${account}, ${key}, ${fingerprint}, case ${status} when 'completed' then 'done' when 'failed' then 'retryable' else 'running' end,
            ${run}, case ${status} when 'completed' then ${result} end, case when ${paid} then 'infinity' else now() + interval '2 days' end
     from ${calls} where ${claimed}`,
    `insert into hold (run_id, account_id, amount, state)
     select id, account_id, price, case status when 'completed' then 'captured' when 'failed' then 'released' else 'open' end from run where price > 0`,
    `insert into key_budget (budget_id, day, spent)
     select budget_id, (started_at at time zone 'utc')::date, sum(price) from run
     where budget_id is not null and status in ('active', 'completed') group by 1, 2`,
  ];
}

/** The transfers, in the order of their making, and what follows from them. */
function books({ refunds }: Shares): string[] {
  const transfer = (rest: string) => `insert into transfer (debit, credit, amount, kind, ref, created_at) ${rest}`;
  const charged = "from run where status = 'completed' and price > 0";
  return [
    transfer(
      `select '${treasury}', '${operator}', opening_amount, 'opening', token_account, looked_at from treasury_watch`,
    ),
    transfer(`select '${adjustments}', id, 5000000, 'adjustment', sha256(uuid_send(id)), created_at from account`),
    transfer(`select '${treasury}', account_id, amount, 'deposit', tx_signature, block_time from payment`),
    transfer(
      `select '${suspense}', assigned_to, amount, 'assignment', tx_signature, now() from payment where assigned_to is not null`,
    ),
    transfer(`select account_id, '${treasury}', amount, 'reversal', tx_signature, now() from payment where reversed`),
    transfer(
      `select '${operator}', '${treasury}', -change, 'withdrawal', token_account || tx_signature, now() from treasury_movement where change < 0`,
    ),
    transfer(`select account_id, '${revenue}', price, 'charge', uuid_send(id), created_at ${charged}`),
    transfer(
      `select '${revenue}', account_id, price, 'refund', uuid_send(id), now() ${charged} order by id limit ${refunds}`,
    ),
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
