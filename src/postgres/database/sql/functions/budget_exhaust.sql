-- Reports the budget that refuses a call as exhausted, once per period.
create or replace function budget_exhaust(of_key uuid, of_tool text, price bigint)
returns void language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  refusal json;
begin
  perform from account where id = (select account_id from api_key where id = of_key) for update;
  refusal := budget_refusal(of_key, of_tool, price);
  if refusal ->> 'reported' = 'false' then
    perform budget_report(array[(refusal ->> 'budget_id')::uuid], refusal ->> 'period');
  end if;
end
$$;
