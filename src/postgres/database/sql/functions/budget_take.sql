-- Counts the price of a call that is granted, and returns the group that it counts in and when it starts: not
-- before the day that its budgets are at, so that it is returned to what it was taken from. A counter ends at
-- the largest bigint. The caller has locked the account.
create or replace function budget_take(
  of_key uuid, price bigint, out group_id uuid, out started_at timestamptz
)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  budgets uuid[];
  today constant date = (now() at time zone 'utc')::date;
  this_month constant date = date_trunc('month', now() at time zone 'utc')::date;
  room constant bigint = 9223372036854775807 - price;
  last_day date;
begin
  select array[key.budget_id, key.group_id], key.group_id into budgets, group_id
  from api_key key where key.id = of_key;
  update budget set
    day = greatest(day, today),
    day_spent = case when day < today then 0 else least(day_spent, room) end + price,
    day_level = case when day < today then 0 else day_level end,
    month = greatest(month, this_month),
    month_spent = case when month < this_month then 0 else least(month_spent, room) end + price,
    month_level = case when month < this_month then 0 else month_level end,
    total_spent = least(total_spent, room) + price
  where id = any (budgets);
  select max(day) into last_day from budget where id = any (budgets);
  started_at := greatest(now(), last_day::timestamp at time zone 'utc');
  perform budget_report(budgets);
end
$$;
