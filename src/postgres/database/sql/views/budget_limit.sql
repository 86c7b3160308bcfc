-- Each budget's day, month and total: its limit (null: none), what counts against it now, whether that
-- reaches the threshold (1) or the limit (2), which of them was reported, and when the period ends. A period
-- that is over counts nothing. One that is ahead of this transaction's clock is the current one.
create or replace view budget_limit as
select budget.id as budget_id, budget.account_id, budget.name, budget.warn_percent, period.name as period,
  period.rank, period.starts, period.ends, period.amount, period.spent, period.level,
  case
    when period.spent >= period.amount then 2
    when period.spent::numeric * 100 >= period.amount::numeric * budget.warn_percent then 1
    else 0 end as reached
from budget
cross join lateral (
  select greatest(day, (now() at time zone 'utc')::date) as day,
    greatest(month, date_trunc('month', now() at time zone 'utc')::date) as month
) current
cross join lateral (values
  ('day', 3, current.day, current.day + 1, day_limit,
    case when budget.day = current.day then day_spent else 0 end,
    case when budget.day = current.day then day_level else 0 end),
  ('month', 2, current.month, (current.month + interval '1 month')::date, month_limit,
    case when budget.month = current.month then month_spent else 0 end,
    case when budget.month = current.month then month_level else 0 end),
  ('total', 1, null, null, total_limit, total_spent, total_level)
) period (name, rank, starts, ends, amount, spent, level);
