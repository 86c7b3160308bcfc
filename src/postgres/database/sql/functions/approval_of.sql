-- The request of an application's call that its account holder has allowed, beyond the limits of its own key;
-- null: none. Other refusals stay: those of tools, and of the key's group.
create or replace function approval_of(refusal json, of_key uuid, print bytea, price bigint)
returns bytea language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  if refusal ->> 'scope' = 'group' or refusal ->> 'period' = 'tools' then
    return null;
  elsif exists (
    select from budget_limit
    where budget_id = (select group_id from api_key where id = of_key) and spent > amount - price)
  then
    return null;
  end if;
  return (
    select id from oauth_record
    where key_id = of_key and model = 'Approval' and expires_at > now() and payload ->> 'state' = 'allowed'
      and payload ->> 'fingerprint' = encode(print, 'hex') and (payload ->> 'price')::bigint >= price
    limit 1);
end
$$;
