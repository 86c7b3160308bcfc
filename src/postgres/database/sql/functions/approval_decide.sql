-- Allows or refuses an application's call, once, as the account holder. False if there is no such request.
-- Locks the account like a change of limits: calls that are authorized later find it.
create or replace function approval_decide(of_id bytea, of_account uuid, decision text)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if decision = 'allowed' then
    perform limits_lock(of_account);
  end if;
  update oauth_record r
  set payload = r.payload || jsonb_build_object('state', decision), expires_at = now() + interval '15 minutes'
  from api_key key
  where r.id = of_id and r.model = 'Approval' and r.expires_at > now() and r.payload ->> 'state' = 'asked'
    and key.id = r.key_id and key.account_id = of_account and key.revoked_at is null;
  return found;
end
$$;
