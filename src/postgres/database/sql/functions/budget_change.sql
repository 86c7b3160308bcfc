-- Sets the limits of a budget whose account this transaction has locked. A level that is no longer reached is
-- reported again when it is.
create or replace function budget_change(
  of_budget uuid, new_day bigint, new_month bigint, new_total bigint, new_warn integer
)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update budget set day_limit = new_day, month_limit = new_month, total_limit = new_total,
    warn_percent = coalesce(new_warn, warn_percent)
  where id = of_budget;
  update budget set day_level = least(day_level, day.reached),
    month_level = least(month_level, month.reached),
    total_level = least(total_level, total.reached)
  from budget_limit day, budget_limit month, budget_limit total
  where budget.id = of_budget and (day.budget_id, day.period) = (of_budget, 'day')
    and (month.budget_id, month.period) = (of_budget, 'month')
    and (total.budget_id, total.period) = (of_budget, 'total');
  perform budget_report(array[of_budget]);
end
$$;
