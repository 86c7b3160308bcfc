-- What an account takes to another cell: its settings, its keys with their limits and groups, and what these
-- have spent. All columns: what the other cell does not know, it ignores.
create or replace function account_contents(account uuid)
returns json language sql stable security definer set search_path = public, pg_temp as $$
select json_build_object(
  'account', to_json(moved),
  'keys', (
    select coalesce(json_agg(key order by key.id), '[]') from api_key key where key.account_id = moved.id),
  'grants', (
    select coalesce(json_agg(used), '[]') from oauth_grant used join api_key key on key.id = used.key_id
    where key.account_id = moved.id),
  'budgets', (
    select coalesce(json_agg(budget), '[]') from budget where budget.account_id = moved.id))
from account moved where moved.id = $1
$$;
