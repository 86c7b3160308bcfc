-- Counts and hashes, by part, what a seal covers: from "since" (null: from the first on) to "up_to",
-- excluded. The receipts of each month's runs are a part, read from the table "receipts"; columns that may
-- still change are left out. Answers are stored for 48 hours: they are a part for 24. Hashes of 65 seconds
-- each are hashed again: the rows of a long span do not fit into one value. Reads 64 of these (70 minutes) at
-- a time, so that a long history is not sorted as a whole.
create or replace function audit_parts(
  seal integer, since timestamptz, up_to timestamptz, receipts regclass default 'receipt'
)
returns setof audit_part
language plpgsql stable parallel safe
set enable_seqscan = off as $$
begin
  return query execute format($query$
with bound as (
  select audit_bound($2) as until, greatest(audit_bound($1), coalesce(least(
    (select id from transfer order by id limit 1), (select id from %1$s order by id limit 1)
  ), audit_bound($2))) as start
), step as (
  select greatest(start, encode(int8send(n << 38) || '\x0000000000000000', 'hex')::uuid) as start,
    least(until, encode(int8send((n + 1) << 38) || '\x0000000000000000', 'hex')::uuid) as until
  from bound, generate_series(
    ('x' || left(start::text, 8))::bit(32)::bigint >> 6,
    ('x' || left(until::text, 8))::bit(32)::bigint >> 6
  ) n
), entry_part as (
  select entry.name, substr(uuid_send(entry.id), 1, 4) as at, count(*) as entries,
    sha256(string_agg(sha256(convert_to(entry.content, 'UTF8')), ''::bytea order by entry.id)) as hash
  from step cross join lateral (
    select 'transfers', id, row(
      id, debit, credit, amount, kind, encode(ref, 'hex'), note, seq, balance,
      extract(epoch from created_at))::text
    from transfer where id >= step.start and id < step.until
    union all
    -- A run's month is that of its id (UUIDv7): its partition's.
    select 'receipts of ' || to_char(to_timestamp(
      ('x' || encode(substr(uuid_send(run_id), 1, 6), 'hex'))::bit(48)::bigint / 1000.0) at time zone 'utc',
      'YYYY-MM'), id, row(
      id, run_id, account_id, tool, quote_id, step_id, network, encode(reference, 'hex'), quoted, debited,
      paid_by, extract(epoch from created_at))::text
    from %1$s where id >= step.start and id < step.until
    union all
    select 'answers', charged.id, row(
      charged.id, claim.key, encode(claim.fingerprint, 'hex'), claim.result)::text
    from receipt charged
    cross join lateral (select claim_key from run where id = charged.run_id limit 1) run
    cross join lateral (
      select key, fingerprint, result::text as result, run_id from idempotency
      where account_id = charged.account_id and idempotency.key = run.claim_key offset 0) claim
    where $1 > now() - interval '24 hours' and charged.id >= step.start and charged.id < step.until
      and claim.run_id = charged.run_id
  ) entry (name, id, content)
  group by 1, 2
), arrival as (
  select distinct on (account_id) account_id, other_account = account_id as arrived, moved_at
  from account_move order by account_id, moved_at
), other (name, key, content) as (
  select 'payments', network || ' ' || encode(reference, 'hex'), row(
    network, encode(reference, 'hex'), account_id, quote_id, amount, paid_by, payer, memos,
    extract(epoch from created_at))::text
  from payment where created_at >= coalesce($1, '-infinity') and created_at < $2
  union all
  select 'movements', encode(token_account || tx_signature, 'hex'), row(
    encode(token_account, 'hex'), encode(tx_signature, 'hex'), change, extract(epoch from created_at))::text
  from treasury_movement where created_at >= coalesce($1, '-infinity') and created_at < $2
  union all
  -- One that another cell created is older than its arrival.
  select 'accounts', id::text, row(id, wallet, extract(epoch from created_at))::text
  from account where created_at >= coalesce($1, '-infinity') and created_at < $2
    and not exists (select from arrival where account_id = account.id and arrived)
  union all
  select 'accounts', id::text, row(id, wallet, extract(epoch from created_at))::text
  from arrival cross join lateral (select * from account where id = account_id offset 0) account
  where arrived and moved_at >= coalesce($1, '-infinity') and moved_at < $2
  union all
  select 'operator actions', id::text, row(
    id, extract(epoch from at), account_id, actor, action, target, details::text, once, repeats,
    failed_action, failure)::text
  from operator_action where at >= coalesce($1, '-infinity') and at < $2
  union all
  select 'config versions', to_char(version, '0000000000'), row(
    version, document, encode(checksum, 'hex'), source, actor, note, extract(epoch from applied_at))::text
  from config_version where applied_at >= coalesce($1, '-infinity') and applied_at < $2
)
select $3, part.name, sum(part.entries)::bigint, sha256(string_agg(part.hash, ''::bytea order by part.at))
from entry_part part group by part.name
union all
select $3, other.name, count(*), sha256(string_agg(sha256(convert_to(other.content, 'UTF8')), ''::bytea
  order by other.key collate "C"))
from other group by other.name
$query$, receipts) using since, up_to, seal;
end
$$;
