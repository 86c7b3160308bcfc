-- Counts and hashes the entries of a time span: "since" (null: from the first on) to "up_to", excluded.
-- Hashes of 65 seconds each are hashed again: the rows of a long span do not fit into one value. Reads 64 of
-- these (70 minutes) at a time, so that a long history is not sorted as a whole. Leaves out the receipts of
-- runs from "low" to below "high".
create or replace function audit_hash(
  since timestamptz, up_to timestamptz, out entries bigint, out hash bytea,
  low uuid default null, high uuid default null
)
language sql stable parallel safe
set enable_seqscan = off as $$
with bound as (
  select audit_bound(up_to) as until, greatest(audit_bound(since), coalesce(least(
    (select id from transfer order by id limit 1), (select id from receipt order by id limit 1)
  ), audit_bound(up_to))) as start
), step as (
  select greatest(start, encode(int8send(n << 38) || '\x0000000000000000', 'hex')::uuid) as start,
    least(until, encode(int8send((n + 1) << 38) || '\x0000000000000000', 'hex')::uuid) as until
  from bound, generate_series(
    ('x' || left(start::text, 8))::bit(32)::bigint >> 6,
    ('x' || left(until::text, 8))::bit(32)::bigint >> 6
  ) n
)
select coalesce(sum(part.entries), 0)::bigint,
  sha256(coalesce(string_agg(part.hash, ''::bytea order by part.at), ''))
from step cross join lateral (
  select substr(uuid_send(id), 1, 4) as at, count(*) as entries,
    sha256(string_agg(sha256(convert_to(content, 'UTF8')), ''::bytea order by id)) as hash
  from (
    select id, row(
      id, debit, credit, amount, kind, encode(ref, 'hex'), note, extract(epoch from created_at))::text
    from transfer where id >= step.start and id < step.until
    union all
    select id, row(
      id, run_id, account_id, tool, quote_id, step_id, network, encode(reference, 'hex'), quoted, debited,
      paid_by, extract(epoch from created_at))::text
    from receipt where id >= step.start and id < step.until
      and (low is null or run_id < low or run_id >= high)
  ) entry (id, content)
  group by 1
) part
$$;
