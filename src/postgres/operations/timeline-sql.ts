import { SOLANA } from "../../domain/payments/payment-id.ts";

/** A time in JSON as answers write it: the texts sort as the times do. */
const jsonTime = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Runs of request $1 with ids from $2 to $3: ids begin with their time. */
export const RUNS_OF_REQUEST = `
  select id from run
  where id >= $2 and id < $3 and request_id = $1 order by id limit 100`;

/** Runs of request $1 whose id a proxy chose. */
export const RUNS_OF_PROXY_REQUEST = `
  select id from run where request_id = $1 and not starts_with(request_id, 'req_') order by id limit 100`;

/** Runs of account $1 with quote $2 and ids from $3 to $4. */
export const RUNS_OF_QUOTE = `
  select id from run
  where account_id = $1 and id >= $3 and id < $4 and quote_id = $2 order by id limit 100`;

/**
 * Payments with quote $2 of account $1 (null: of any wallet), stored from $3 on, and its transactions relayed
 * until $4.
 */
export const PAYMENTS_OF_QUOTE = `
  select network, reference from payment where quote_id = $2 and settled
  union
  select network, reference from payment
  where quote_id = $2 and created_at >= $3
    and (reversed or (not settled and starts_with(quote_id, 'qt_')))
  union
  select '${SOLANA}', tx_signature from relay
  where account_id = $1 and quote_id = $2 and claimed_at >= $3 and claimed_at < $4
  union
  select '${SOLANA}', tx_signature from relay where $1 is null and quote_id = $2 and state <> 'failed'`;

/** Payments of deposit $1. */
export const PAYMENTS_OF_DEPOSIT = `
  select network, reference from payment where quote_id = $1 and starts_with(quote_id, 'dep_')`;

/** The last runs of account $1, with key $2 if not null. */
export const RUNS_OF_ACCOUNT = `
  select id from (select id, key_id from run where account_id = $1 order by id desc limit 1000) run
  where $2::uuid is null or key_id = $2 order by id desc limit 20`;

/** The accounts or keys searched for: account $1, wallet $2, key $3, prefix of a key $4. */
export const ACCOUNTS = `
  select account.id as account_id, null::uuid as key_id from account
  where account.id = $1 or account.wallet = $2
  union all
  select account_id, id from api_key where id = $3 or (prefix ~>=~ $4 and prefix ~<~ $5)
  limit 20`;

/** Causes of the last payments that reached account $1. */
export const PAYMENTS_OF_ACCOUNT = `
  select ref from transfer where credit = $1 and kind in ('deposit', 'assignment') order by id desc limit 20`;

/** Payments of the runs $1. */
export const PAYMENTS_OF_RUNS = `
  select distinct network, reference from run where id = any ($1) and reference is not null`;

/** Runs that the payments $1, $2 paid, or were to pay within an hour; ids begin with their time. */
export const RUNS_OF_PAYMENTS = `
  with wanted as (
    select payment.* from unnest($1::text[], $2::bytea[]) given (network, reference)
    cross join lateral (
      select * from payment where network = given.network and reference = given.reference offset 0) payment
  )
  select receipt.run_id as id from wanted join receipt using (network, reference)
  union
  select claim.run_id from wanted
  join idempotency claim on claim.account_id = wanted.account_id and claim.key = wanted.claim_key
  where claim.reference = wanted.reference
  union
  select run.id from wanted
  join run on run.account_id = wanted.account_id and run.id >= (
      lpad(
        to_hex(floor(extract(epoch from wanted.created_at - interval '5 minutes') * 1000)::bigint), 12, '0')
        || repeat('0', 20))::uuid
    and run.id < (
      lpad(
        to_hex(floor(extract(epoch from wanted.created_at + interval '1 hour') * 1000)::bigint), 12, '0')
        || repeat('0', 20))::uuid
    and run.network = wanted.network and run.reference = wanted.reference`;

/**
 * One event a row: of the runs $1, the payments $2 and $3, the accounts $4 and the keys $5. Blocks have the
 * time of a whole second, so a payment is dated at its end.
 */
export const EVENTS = `
  with runs as (select * from run where id = any ($1)),
  payments as (
    select payment.* from unnest($2::text[], $3::bytea[]) given (network, reference)
    cross join lateral (
      select * from payment where network = given.network and reference = given.reference offset 0) payment
  ),
  relays as (
    select relay.*, account.id as holder from unnest($2::text[], $3::bytea[]) given (network, reference)
    cross join lateral (select * from relay where tx_signature = given.reference offset 0) relay
    left join account on account.id = relay.account_id
  ),
  moved as (
    select transfer.*, payments.network, payments.reference, payments.account_id
    from payments
    cross join unnest(array['deposit', 'assignment', 'reversal', 'reinstatement']) wanted (kind)
    cross join lateral (
      select * from transfer
      where kind = wanted.kind and ref = payment_ref(payments.network, payments.reference) offset 0
    ) transfer
  )
  select * from (
    select 1 as rank, created_at as at, 'account created' as event, 'acct' as prefix, id,
      null as network, null::bytea as reference, id as account_id, available as amount,
      json_build_object('wallet', wallet, 'blocked_reason', blocked_reason) as details
    from account where id = any ($4)
    union all
    select 2, created_at, 'key created', 'key', id, null, null, account_id, null,
      json_build_object('prefix', prefix, 'name', name, 'expires_at', ${jsonTime("expires_at")})
    from api_key where id = any ($5)
    union all
    select 2, revoked_at, 'key revoked', 'key', id, null, null, account_id, null, '{}'::json
    from api_key where id = any ($5) and revoked_at is not null
    union all
    select 3, claimed_at, 'relay claimed', null, null, '${SOLANA}', tx_signature, holder, null,
      json_build_object('quote_id', quote_id, 'key_id', key_id)
    from relays
    union all
    select 7, moved_at, 'relay ' || state, null, null, '${SOLANA}', tx_signature, holder, null,
      json_build_object('reason', reason, 'fee_lamports', fee_lamports)
    from relays where state <> 'claimed'
    union all
    select 4, least(block_time + interval '999 ms', created_at), 'payment on the chain', null, null, network,
      reference, account_id, amount,
      json_build_object('payer', payer, 'slot', slot, 'block_time', ${jsonTime("block_time")})
    from payments
    union all
    select 5, created_at, 'payment verified', null, null, network, reference, account_id, amount,
      json_build_object('quote_id', quote_id, 'paid_by', paid_by, 'assigned_to', assigned_to,
        'state', concat_ws(', ', case when settled then 'settled' when quote_id is null then 'suspense'
          else 'credited' end, case when reversed then 'reversed' when finalized then 'finalized' end))
    from payments
    union all
    select 6, created_at, 'payment ' || case kind when 'deposit' then 'credited' when 'assignment' then
        'assigned' when 'reversal' then 'reversed' else 'reinstated' end,
      null, null, network, reference, account_id, amount, json_build_object('reason', note)
    from moved
    union all
    select 8, started_at, 'run started', 'run', run.id, null, null, account_id, price,
      json_build_object('request_id', request_id, 'tool', tool, 'key_id', key_id,
        'paid_by', paid_by, 'quote_id', quote_id, 'config_version', config_version,
        'idempotency_key', case when starts_with(claim_key, 'key:') then substr(claim_key, 5) end)
    from runs run
    union all
    select 9, ended_at, 'run ' || status, 'run', run.id, null, null, account_id, null,
      json_build_object('code', error_code, 'message', error_message, 'outcome', outcome)
    from runs run where ended_at is not null
    union all
    select 10, receipt.created_at, 'charged', 'rcpt', receipt.id, null, null, receipt.account_id,
      receipt.debited, json_build_object('run_id', run.id, 'quoted_usdc_microusd', receipt.quoted)
    from runs run join receipt on receipt.run_id = run.id
    union all
    select 11, transfer.created_at, 'refunded', 'rcpt', receipt.id, null, null, run.account_id,
      transfer.amount, json_build_object('run_id', run.id, 'reason', transfer.note)
    from runs run join receipt on receipt.run_id = run.id
    join transfer on transfer.kind = 'refund' and transfer.ref = uuid_send(run.id)
    union all
    select 12, archived_at, 'archived', 'run', gone.id, null, null, null, null,
      json_build_object('month', to_char(month, 'YYYY-MM'),
        'to see it', 'toolgate archive restore ' || to_char(month, 'YYYY-MM'))
    from unnest($1::uuid[]) gone (id) join archive_month on gone.id >= low and gone.id < high
    where gone.id not in (select id from runs)
    union all
    select 12, archived_at, 'calls archived', 'acct', account_id, null, null, account_id, sum(used.charged),
      json_build_object('month', to_char(month, 'YYYY-MM'), 'runs', sum(used.runs),
        'receipts', sum(used.receipts))
    from archive_use used join archive_month using (month) where account_id = any ($4)
    group by month, archived_at, account_id
  ) event
  where at is not null
  order by at, rank`;
