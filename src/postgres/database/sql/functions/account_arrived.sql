-- Notes in the cell that an account left that the other has booked it.
create or replace function account_arrived(move uuid, other uuid)
returns void language sql security definer set search_path = public, pg_temp as $$
update account_move set other_account = $2 where id = $1 and direction = 'out' and other_account is null
$$;
