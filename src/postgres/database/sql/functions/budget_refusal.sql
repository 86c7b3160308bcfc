-- The limit that forbids a key to take the price of a call from the balance; null: none. Names the limit that
-- holds longest. Exact where the account is locked.
create or replace function budget_refusal(of_key uuid, of_tool text, price bigint)
returns json language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  key api_key;
begin
  select * into key from api_key where id = of_key;
  if of_tool <> all (key.tools) then
    return json_build_object('scope', 'key', 'period', 'tools');
  elsif price > key.call_limit then
    return json_build_object('scope', 'key', 'period', 'call', 'amount', key.call_limit::text);
  elsif key.budget_id is null and key.group_id is null then
    return null;
  end if;
  return (
    select json_build_object(
      'scope', case when name is null then 'key' else 'group' end,
      'budget_id', budget_id, 'group_name', name, 'reported', level = 2 or price > amount,
      'period', period, 'amount', amount::text, 'spent', spent::text, 'ends', ends)
    from budget_limit
    where budget_id = any (array[key.budget_id, key.group_id]) and spent > amount - price
    order by rank, name is not null limit 1);
end
$$;
