-- Keys of an account that has moved are those of the other cell: a change here would be lost.
create or replace function refuse_moved_key() returns trigger language plpgsql security definer
set search_path = public, pg_temp as $$
declare
  other_cell integer;
begin
  -- Locked first: what is read after it is current.
  select moved_to into other_cell from account where id = new.account_id for key share;
  if other_cell is not null then
    raise exception 'the account has moved to another cell' using errcode = 'restrict_violation';
  end if;
  return new;
end
$$;

create or replace trigger moved_key before insert or update on api_key
for each row execute function refuse_moved_key();
