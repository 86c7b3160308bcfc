-- Counts and hashes the entries of a time span: "since" (null: from the first on) to "up_to", excluded.
-- Hashes of 65 seconds each are hashed again: the rows of a long span do not fit into one value. Leaves out
-- the receipts of runs from "low" to below "high".
create or replace function audit_hash(
  since timestamptz, up_to timestamptz, out entries bigint, out hash bytea,
  low uuid default null, high uuid default null
)
language sql stable parallel safe
set enable_seqscan = off
as $$
select coalesce(sum(part.entries), 0)::bigint,
  sha256(coalesce(string_agg(part.hash, ''::bytea order by part.at), ''))
from (
  select substr(uuid_send(id), 1, 4) as at, count(*) as entries,
    sha256(string_agg(sha256(convert_to(content, 'UTF8')), ''::bytea order by id)) as hash
  from (
    select id, row(
      id, debit, credit, amount, kind, encode(ref, 'hex'), note, extract(epoch from created_at))::text
    from transfer where id >= audit_bound(since) and id < audit_bound(up_to)
    union all
    select id, row(
      id, run_id, account_id, tool, quote_id, step_id, network, encode(reference, 'hex'), quoted, debited,
      paid_by, extract(epoch from created_at))::text
    from receipt where id >= audit_bound(since) and id < audit_bound(up_to)
      and (low is null or run_id < low or run_id >= high)
  ) entry (id, content)
  group by 1
) part
$$;

revoke execute on function audit_hash from public;
