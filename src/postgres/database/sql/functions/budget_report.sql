-- Writes an event for each budget that reaches its threshold or a limit, once per period and level. A limit
-- also counts as reached when it refuses a call: then "refusing" is its period. The caller has locked the
-- account.
create or replace function budget_report(budgets uuid[], refusing text DEFAULT NULL::text)
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  item record;
begin
  for item in
    select *, case period when refusing then 2 else reached end as news
    from budget_limit
    where budget_id = any (budgets) and case period when refusing then 2 else reached end > level
    order by budget_id, rank
  loop
    update budget set
      day_level = case item.period when 'day' then item.news else day_level end,
      month_level = case item.period when 'month' then item.news else month_level end,
      total_level = case item.period when 'total' then item.news else total_level end
    where id = item.budget_id;
    perform event_add(
      item.account_id,
      case item.news when 2 then 'budget.exhausted' else 'budget.threshold_reached' end,
      jsonb_strip_nulls(jsonb_build_object(
        case when item.name is null then 'key_id' else 'group_id' end,
        case when item.name is null then 'key_' else 'grp_' end || encode(uuid_send(item.budget_id), 'hex'),
        'name', item.name,
        'period', item.period,
        'limit_usdc_microusd', item.amount,
        'spent_usdc_microusd', item.spent,
        'warn_percent', item.warn_percent,
        'resets_at', to_char(item.ends, 'YYYY-MM-DD"T00:00:00.000Z"'))));
  end loop;
end
$$;
