-- Books out what a frozen account without running calls has, under the reference "move", and marks it as
-- moved. For an account that has moved: what has reached it since. Repeated before the other cell has booked
-- it, returns the same departure. Outcomes: "departed", "nothing" (no rest), "unknown", "not_frozen",
-- "running", "elsewhere" (moved, or moving, to the cell "moved_to").
create or replace function account_depart(
  account uuid, move uuid, cell integer,
  out outcome text, out reference uuid, out amount bigint, out rest boolean, out contents json,
  out moved_to integer
)
language plpgsql security definer
set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare
  clearing constant uuid := '00000000-0000-0000-0000-000000000006';
  moving account;
  departing account_move;
begin
  select a.* into moving from account a where a.id = account for update;
  if not found then
    outcome := 'unknown';
    return;
  end if;
  select m.* into departing from account_move m where m.account_id = account and m.other_account is null;
  moved_to := coalesce(departing.other_cell, moving.moved_to);
  if moved_to <> cell then
    outcome := 'elsewhere';
    return;
  end if;
  if departing.id is null then
    if not moving.frozen then
      outcome := 'not_frozen';
      return;
    end if;
    if exists (select from run r where r.account_id = account and r.status = 'active') then
      outcome := 'running';
      return;
    end if;
    if moving.moved_to is not null and moving.available = 0 then
      outcome := 'nothing';
      return;
    end if;
    insert into account_move (id, direction, account_id, other_cell, amount, rest)
    values (move, 'out', account, cell, moving.available, moving.moved_to is not null)
    returning * into departing;
    if moving.available <> 0 then
      perform ledger_transfer(
        case when moving.available > 0 then account else clearing end,
        case when moving.available > 0 then clearing else account end,
        abs(moving.available), 'clearing', uuid_send(move), 'to cell ' || cell);
    end if;
    update account a set moved_to = cell where a.id = account;
    delete from console_session s where s.account_id = account;
  end if;
  outcome := 'departed';
  reference := departing.id;
  amount := departing.amount;
  rest := departing.rest;
  contents := account_contents(account);
end
$$;
