-- Adds up to "most" transfers to the revenue and moves the mark past those older than any transaction that
-- can still be open: a lower id could commit after it. "complete" is false if there are more transfers.
create or replace function operations_revenue(most integer)
returns table (amount bigint, complete boolean)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  mark revenue_mark;
  old_to bigint;
  counted bigint;
  last_counted bigint;
  earned bigint;
  earned_old bigint;
begin
  select * into mark from revenue_mark for update;
  select count(*), max(id), max(id) filter (where created_at < now() - interval '1 minute')
  into counted, last_counted, old_to
  from (select id, created_at from transfer where id > mark.counted_to order by id limit most) next_ones;
  select coalesce(sum(gain), 0), coalesce(sum(gain) filter (where id <= old_to), 0)
  into earned, earned_old
  from (
    select id,
      case revenue when credit then transfer.amount when debit then -transfer.amount else 0 end as gain
    from transfer where id > mark.counted_to and id <= last_counted
  ) gains;
  if old_to is not null then
    update revenue_mark set counted_to = old_to, amount = mark.amount + earned_old;
  end if;
  return query select mark.amount + earned, counted < most;
end
$$;

revoke execute on function operations_revenue from public;
