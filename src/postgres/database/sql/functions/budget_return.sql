-- Takes back from the budgets of a run what it held and was not charged: of the day and month in which it
-- started, if they are not over, and of all time. The caller has locked the account. A wrong counter, which
-- an audit finds, ends at 0: it must not fail the whole batch.
create or replace function budget_return(of_key uuid, of_group uuid, day_started date, amount bigint)
returns void language sql as $$
update budget set
  day_spent = greatest(0, day_spent - case when day = day_started then amount else 0 end),
  month_spent = greatest(
    0, month_spent - case when month = date_trunc('month', day_started)::date then amount else 0 end),
  total_spent = greatest(0, total_spent - amount)
where id = any (array[of_group, (select budget_id from api_key where id = of_key)])
$$;
