-- Adds up to "most" entries to the revenue and moves the mark past those older than any transaction that can
-- still be open: a lower id could commit after it. "complete" is false if there are more entries.
create or replace function operations_revenue(most integer)
returns table (amount bigint, complete boolean)
language plpgsql rows 1 security definer
set search_path = public, pg_temp set enable_seqscan = off as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  mark revenue_mark;
  old_to uuid;
  counted bigint;
  earned bigint;
  earned_old bigint;
begin
  select * into mark from revenue_mark for update;
  with next_ones as (
    select * from (
      (select id, created_at, debited as gain from receipt where id > mark.counted_to order by id limit most)
      union all
      (select id, created_at, case revenue when credit then transfer.amount when debit then -transfer.amount
        else 0 end
      from transfer where id > mark.counted_to order by id limit most)
    ) entry order by id limit most
  )
  select count(*), coalesce(sum(gain), 0),
    coalesce(sum(gain) filter (where created_at < now() - interval '1 minute'), 0),
    -- There is no max(uuid).
    (array_agg(id order by id desc) filter (where created_at < now() - interval '1 minute'))[1]
  into counted, earned, earned_old, old_to
  from next_ones;
  if old_to is not null then
    update revenue_mark set counted_to = old_to, amount = mark.amount + earned_old;
  end if;
  return query select mark.amount + earned, counted < most;
end
$$;
