-- Stops new calls of an account that is to move to another cell, or lets them start again. Returns false if
-- there is no such account here, or it has moved.
create or replace function account_freeze(account uuid, stop boolean)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
begin
  update account a set frozen = stop where a.id = account and a.moved_to is null;
  return found;
end
$$;
