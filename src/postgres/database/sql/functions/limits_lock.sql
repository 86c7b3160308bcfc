-- Locks an account whose keys' limits change in this transaction: calls that are authorized later find the
-- new ones, and those that were authorized before are counted.
create or replace function limits_lock(of_account uuid)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update account set limits_version = limits_version + 1 where id = of_account;
  if exists (select from account where id = of_account and moved_to is not null) then
    raise exception 'the account has moved to another cell' using errcode = 'restrict_violation';
  end if;
end
$$;
