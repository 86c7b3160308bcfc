import pg from "pg";
import { SCOPES } from "../../src/domain/accounts/scope.ts";
import { SYSTEM_ACCOUNTS } from "../../src/postgres/database/system-accounts.ts";
import { SOLANA } from "../../src/domain/payments/payment-id.ts";
import { openPool } from "../../src/postgres/database/pool.ts";
import { addSeal, contentOf, lastSeal } from "../../src/postgres/operations/seals.ts";

const { treasury, revenue, suspense, adjustments, operator, clearing } = SYSTEM_ACCOUNTS;

/**
 * Session settings for filling: no disk sync, foreign keys or triggers, and join plans that need no
 * statistics.
 */
const FILLING = `
  set synchronous_commit = off;
  set timezone = 'UTC';
  set session_replication_role = replica;
  set enable_nestloop = off;
  set work_mem = '256MB';
  set maintenance_work_mem = '512MB'`;

/**
 * Fills an empty database with a ledger of about that many transfers that passes every audit check. Leaves
 * statistics empty. Every fourth call belongs to the first account. Needs a superuser.
 * @param accounts number of accounts; default: one per thousand transfers. At more than a quarter of the
 * transfers, only that many, evenly spaced, have money and calls.
 */
export async function fillLedger(url: string, transfers: number, accounts?: number): Promise<void> {
  const shares = sharesOf(transfers, accounts);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(FILLING);
    const indexes = await dropIndexes(client);
    const statements = [MONTHS, ...rows(shares), ...books(shares), ...indexes];
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Seals each month that is over by itself, as the audits of its hours would have done. */
export async function sealMonths(url: string): Promise<void> {
  const pool = openPool(url, { max: 2, applicationName: "large ledger" });
  const client = await pool.connect();
  try {
    await client.query("set statement_timeout = 0");
    const { rows } = await client.query<{ end: string }>(
      "select month::text as end from generate_series(timestamptz '2026-02-01Z', now(), '1 month') month",
    );
    for (const { end } of rows) {
      const seal = await lastSeal(client);
      const content = await contentOf(client, seal, end);
      if (!content || !(await addSeal(pool, content))) throw new Error(`${end}: not sealed`);
    }
  } finally {
    client.release();
    await pool.end();
  }
}

/** The large tables. Their indexes are created afterwards, which takes a tenth of the time. */
const LARGE =
  "array['payment', 'treasury_movement', 'run', 'idempotency', 'transfer', 'receipt']::regclass[]";

/** @returns the statements that recreate them */
async function dropIndexes(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ gone: string; again: string }>(`
    select format('drop index %s', indexrelid::regclass) as gone,
           replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') as again
    from pg_index where indrelid = any (${LARGE}) and not exists (select from pg_constraint
      where conindid = indexrelid)
    union all
    select format('alter table %s drop constraint %I', conrelid::regclass, conname),
           format('alter table %s add constraint %I %s', conrelid::regclass, conname,
             pg_get_constraintdef(oid))
    from pg_constraint where contype in ('p', 'u') and conrelid = any (${LARGE})`);
  for (const { gone } of rows) await client.query(gone);
  return rows.map(({ again }) => again);
}

/** Row counts. */
type Shares = ReturnType<typeof sharesOf>;

function sharesOf(transfers: number, wanted: number | undefined) {
  const share = (part: number) => Math.max(4, Math.floor(transfers * part));
  const accounts = wanted ?? share(0.001);
  const holders = holdersOf(transfers, accounts);
  // Half of the deposits pay a call. The last ones are in suspense, those before them reversed, the rest only
  // credited.
  const [deposits, suspended, reversed, withdrawals] = [
    share(0.2),
    share(0.002),
    share(0.0002),
    share(0.0002),
  ];
  const refunds = share(0.01);
  const charges =
    transfers - holders - deposits - Math.floor(suspended / 2) - reversed - withdrawals - refunds;
  return {
    accounts,
    holders,
    deposits,
    settled: Math.floor(deposits / 2),
    suspended,
    reversed,
    withdrawals,
    refunds,
    charges,
  };
}

/** Requests per minute, burst. */
const UNLIMITED = 10_000_000;

/** The account's number, from its identifier. */
export function filledNumber(uuid: string): number {
  return Number.parseInt(uuid.slice(-12), 16);
}

/** Number of accounts with money and calls. */
function holdersOf(transfers: number, accounts: number): number {
  return Math.min(accounts, Math.floor(transfers / 4));
}

/** Numbers of the accounts with money, evenly spaced. The first one owns every fourth call. */
export function filledHolders(transfers: number, accounts: number, most: number): number[] {
  const holders = holdersOf(transfers, accounts);
  const count = Math.min(holders, most);
  const step = Math.floor(accounts / holders) * Math.floor(holders / count);
  return Array.from({ length: count }, (_, n) => 1 + n * step);
}

/** Initial balance of these accounts, micro-USD: more than all calls cost. */
const FUNDS = "1000000000000";

/** The number of the n-th account with money, from 0. */
const holder = (n: string, { accounts, holders }: Pick<Shares, "accounts" | "holders">) =>
  `(1 + (${n}) * ${Math.floor(accounts / holders)})`;

/** Ascending identifiers, like real ones. */
const id = (kind: number, n: string) =>
  `(lpad(to_hex(${kind}), 8, '0') || lpad(to_hex(${n}), 24, '0'))::uuid`;
const signature = "sha512(int8send(n))";
const fingerprint = "sha256(int8send(n))";
const quote = `'qt_' || encode(${signature}, 'hex')`;
const depositUuid = "lpad(to_hex(n), 32, '0')";
const key = "'key:' || n";
const price = "(1000 + n % 1000)";
const FIRST = "timestamptz '2026-01-01'";
const at = `(${FIRST} + n * interval '1 second')`;
/** UUIDv7, so that each run lies in the partition of its month. */
const runAt = (time: string) =>
  `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '70008000'
    || lpad(to_hex(n), 12, '0'))::uuid`;
/** The partitions that gateways would have made. */
const MONTHS = `
  select partition_attach(parent, name, partition_bound(month), partition_bound(month + interval '1 month'))
  from generate_series(${FIRST}, now(), interval '1 month') month,
    (values ('run'), ('receipt')) large (parent),
    lateral (select parent || to_char(month, '_YYYY_MM')) month_of (name)
  where to_regclass(name) is null`;
const token = "sha256('the token account')";
/** Every account has a key with the same identifier; every third has a daily limit of a million USD. */
const limited = (uuid: string) => `case when get_byte(uuid_send(${uuid}), 15) % 3 = 0 then 1000000000000 end`;
/** Length of a real result. */
const result = "json_build_object('model', 'meta-llama/Llama-3.1-8B', 'note', repeat('x', 700))";

/**
 * Everything that calls and the treasury watch write, except transfers. Set-based, as a million calls would
 * take an hour.
 */
function rows({
  accounts,
  holders,
  deposits,
  settled,
  suspended,
  reversed,
  withdrawals,
  charges,
}: Shares): string[] {
  const account = id(
    1,
    `case when n % 4 = 0 then 1 else ${holder(`n::bigint * 7919 % ${holders}`, { accounts, holders })} end`,
  );
  const paid = `n <= ${settled}`;
  // Every fourth payment was relayed.
  const relayed = `(${paid} and n % 4 = 0)`;
  const nobodys = `n > ${deposits - suspended}`;
  const back = `n > ${deposits - suspended - reversed} and not ${nobodys}`;
  // Every third of the credited ones names a deposit.
  const named = `(n > ${settled} and n <= ${deposits - suspended - reversed} and n % 3 = 0)`;
  // Charged calls first, then failed, free and running ones. Paid calls have a claim; every third other call
  // has a key.
  const [failed, free] = [Math.floor(charges * 1.05), Math.floor(charges * 1.1)];
  const status =
    `case when n <= ${charges} then 'completed' when n <= ${failed} then 'failed' when n <= ${free} ` +
    "then 'completed' else 'active' end";
  // Those that run started just now.
  const startedAt = `case when n <= ${free} then ${at} else timestamptz '${new Date().toISOString()}' end`;
  const run = runAt(startedAt);
  const claimed = `(${paid} or n % 3 = 0)`;
  const calls = `generate_series(1, ${free + 100}) n`;
  return [
    `insert into account (id, wallet, rate_per_minute, burst)
      select ${id(1, "n")}, 'wallet ' || n, ${UNLIMITED}, ${UNLIMITED}
      from generate_series(1, ${accounts}) n`,
    `insert into relay (message_hash, quote_id, account_id, key_id, tx_signature, signed_transaction,
        fee_lamports, last_valid_block_height, state, claimed_at, moved_at)
     select ${fingerprint}, ${quote}, ${account}, ${account}, ${signature}, ${signature}, 10400, n,
       'confirmed', lately, lately
     from generate_series(1, ${deposits}) n, lateral (select now() - n % 20 * interval '1 day' as lately) at
       where ${relayed}`,
    `insert into relay_budget (day, lamports)
     select (claimed_at at time zone 'utc')::date, sum(fee_lamports) from relay group by 1`,
    `insert into payment (network, reference, account_id, quote_id, amount, settled, fingerprint,
      claim_key, slot,
        block_time, finalized, paid_by, reversed, assigned_to)
     select '${SOLANA}', ${signature}, case when ${nobodys} then '${suspense}' else ${account} end, case
       when ${named}
       then 'dep_' || ${depositUuid} when not ${nobodys} then ${quote} end,
            ${price} + n % 10 / 9 * 500, ${paid}, case when ${paid} then ${fingerprint} end, case
              when ${paid} then ${key} end, n, ${at},
            not (${back}), case when ${relayed} then 'gasless' else 'transfer' end, ${back}, case
              when ${nobodys} and n % 2 = 0 then ${account} end
     from generate_series(1, ${deposits}) n`,
    `insert into deposit (id, account_id, amount, reference, created_at)
     select ${depositUuid}::uuid, ${account}, 5, ${fingerprint}, ${at}
       from generate_series(1, ${deposits}) n where ${named}`,
    `insert into treasury_movement (token_account, tx_signature, slot, block_time, change, created_at)
     select ${token}, reference, slot, block_time, amount, block_time from payment where finalized`,
    `insert into treasury_movement (token_account, tx_signature, slot, block_time, change, created_at)
     select ${token}, ${signature}, n, ${at}, -5, ${at}
       from generate_series(${deposits + 1}, ${deposits + withdrawals}) n`,
    `insert into treasury_watch (token_account, slot, opening_amount, opening_slot, expected)
     select ${token}, max(slot), 7, 0, 7 + sum(change) from treasury_movement`,
    `insert into api_key (id, account_id, sha256, prefix, name, scopes)
     select id, id, sha256(wallet::bytea), '', '', '{${SCOPES.join(",")}}' from account`,
    `insert into run (id, account_id, key_id, started_at, tool, status, lease_until, price,
        claim_key, quote_id, step_id, network, reference, paid_by, created_at)
     select ${run}, ${account}, ${account}, ${startedAt}, 'vram_estimate', ${status},
            case when n <= ${free} then ${startedAt} + interval '1 minute' else 'infinity' end,
            case when n > ${failed} and n <= ${free} then 0 else ${price} end,
            case when ${claimed} then ${key} end, case when ${paid} then ${quote} end, case when ${paid}
              then 'step_' || n end,
            case when ${paid} then '${SOLANA}' end, case when ${paid} then ${signature} end, case when
              ${relayed} then 'gasless' when ${paid}
              then 'transfer' else 'balance' end, ${startedAt} from ${calls}`,
    `insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
     select ${account}, ${key}, ${fingerprint}, case ${status} when 'completed' then 'done' when 'failed'
       then 'retryable' else 'running' end,
            ${run}, case ${status} when 'completed' then ${result} end, case when ${paid} then 'infinity'
              else now() + interval '2 days' end
     from ${calls} where ${claimed}`,
    `insert into budget (id, account_id, day_limit, day, month, day_spent, month_spent, total_spent)
     select key_id, key_id, ${limited("key_id")}, today, this_month,
       coalesce(sum(price) filter (where started_at >= today::timestamp at time zone 'utc'), 0),
       coalesce(sum(price) filter (where started_at >= this_month::timestamp at time zone 'utc'), 0),
       sum(price)
     from run cross join (
       select (now() at time zone 'utc')::date as today,
         date_trunc('month', now() at time zone 'utc')::date as this_month
     ) date
     where ${limited("key_id")} is not null and paid_by = 'balance' and status in ('active', 'completed')
     group by key_id, today, this_month`,
    "update api_key set budget_id = budget.id from budget where budget.id = api_key.id",
    "update account set limits_version = 1 from budget where budget.id = account.id",
  ];
}

/** The entries, and what follows from them. */
function books({ refunds, ...shares }: Shares): string[] {
  const transfer = (rest: string) =>
    `insert into transfer (id, debit, credit, amount, kind, ref, created_at)
     select ledger_id(created_at), debit::uuid, credit::uuid, amount, kind, ref, created_at
     from (${rest}) booked (debit, credit, amount, kind, ref, created_at)`;
  const charged = "from run where status = 'completed' and price > 0";
  return [
    transfer(
      `select '${treasury}', '${operator}', opening_amount, 'opening', token_account, looked_at
        from treasury_watch`,
    ),
    transfer(
      `select '${adjustments}', id, ${FUNDS}, 'adjustment',
         sha256(convert_to(encode(uuid_send(id), 'hex') || ':funds', 'UTF8')), created_at
       from account where id in (select ${id(1, holder("n", shares))}
         from generate_series(0, ${shares.holders - 1}) n)`,
    ),
    transfer(
      `select '${treasury}', account_id, amount, 'deposit', payment_ref(network, reference), block_time
        from payment`,
    ),
    transfer(
      `select '${suspense}', assigned_to, amount, 'assignment', payment_ref(network, reference), block_time
        from payment where assigned_to is not null`,
    ),
    transfer(
      `select account_id, '${treasury}', amount, 'reversal', payment_ref(network, reference), block_time from
        payment where reversed`,
    ),
    transfer(
      `select '${operator}', '${treasury}', -change, 'withdrawal', token_account || tx_signature,
        block_time from treasury_movement where change < 0`,
    ),
    transfer(
      `select '${revenue}', account_id, price, 'refund', uuid_send(id), created_at ${charged} order by id
        limit ${refunds}`,
    ),
    `insert into receipt (id, run_id, account_id, tool, quote_id, step_id, network, reference,
      quoted, debited, paid_by, created_at)
     select ledger_id(created_at), id, account_id, tool, quote_id, step_id, network, reference, price,
       price, paid_by, created_at ${charged}`,
    // What operators did.
    `insert into operator_action (id, actor, action, target, details, once)
     select ledger_id(), 'filled', action, target, '{}', once from (
       select 'account.adjust', 'acct_' || encode(uuid_send(credit), 'hex'), amount || ' funds'
       from transfer where kind = 'adjustment'
       union all
       select 'suspense.assign', encode(ref, 'hex'), 'acct_' || encode(uuid_send(credit), 'hex')
       from transfer where kind = 'assignment'
       union all
       select 'receipt.refund', 'rcpt_' || encode(uuid_send(receipt.id), 'hex'), ''
       from transfer join receipt on uuid_send(run_id) = ref where kind = 'refund'
     ) act (action, target, once)`,
    // Each change of a balance with its number. Failed calls have none, as those from before numbers.
    `create temporary table change as
     select *, row_number() over changes as seq, sum(amount) over changes as balance from (
       select account_id, id, true as held, -price as amount, started_at as at from run
       where status in ('active', 'completed') and price > 0
       union all
       select account.id, entry.id, false, case account.id when credit then amount else -amount end,
         entry.created_at
       from transfer entry
       join account on account.id = case when debit > '${clearing}' then debit else credit end
     ) entry
     window changes as (partition by account_id order by at, id)`,
    ...numbered("run", "held"),
    ...numbered("transfer", "not held"),
    `update account set (seq, available) = (last.seq, last.balance) from (
       select distinct on (account_id) * from change order by account_id, seq desc
     ) last where last.account_id = account.id`,
    "drop table change",
  ];
}

/** Stores the rows of a table again with their numbers, in the order of their ids: plans depend on it. */
function numbered(table: string, changes: string): string[] {
  return [
    `create temporary table numbered as select * from ${table}`,
    `update numbered set seq = change.seq, balance = change.balance from change
     where ${changes} and change.id = numbered.id`,
    `alter table ${table} disable trigger user`,
    `truncate ${table}`,
    `insert into ${table} select * from numbered order by id`,
    `alter table ${table} enable trigger user`,
    "drop table numbered",
  ];
}
