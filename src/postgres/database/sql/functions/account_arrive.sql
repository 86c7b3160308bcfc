-- Books in, once, what another cell has booked out under the reference "move", and opens the account: that of
-- the wallet, if it has one here. A rest is booked only. Returns the account.
create or replace function account_arrive(
  move uuid, from_cell integer, own_cell integer, amount bigint, rest boolean, contents json
)
returns uuid language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare
  clearing constant uuid := '00000000-0000-0000-0000-000000000006';
  arriving constant account := json_populate_record(null::account, contents -> 'account');
  home account;
begin
  -- Of moves of one wallet at the same time, the second waits.
  perform pg_advisory_xact_lock(hashtextextended('arrive ' || arriving.wallet, 0));
  select a.* into home from account a
  where a.id = (select m.account_id from account_move m where m.id = move and m.direction = 'in');
  if found then
    return home.id;
  end if;
  select a.* into home from account a where a.wallet = arriving.wallet for update;
  if not found then
    home := arriving;
    home.available := 0;
    home.seq := 0;
    home.operator := false;
    home.frozen := false;
    home.moved_to := null;
    insert into account select home.*;
  elsif not rest then
    if home.frozen and home.moved_to is null then
      raise exception 'the account of this wallet is moving to another cell' using errcode = 'TG001';
    end if;
    update account a set frozen = false, moved_to = null, limits_version = a.limits_version + 1,
      blocked_reason = coalesce(
        arriving.blocked_reason, case when a.id <> arriving.id then a.blocked_reason end)
    where a.id = home.id;
    if home.id = arriving.id then
      update account a set (
        tier, rate_per_minute, burst, account_rate_per_minute, account_burst, low_balance, request_bodies,
        request_hours
      ) = (
        arriving.tier, arriving.rate_per_minute, arriving.burst, arriving.account_rate_per_minute,
        arriving.account_burst, arriving.low_balance, arriving.request_bodies, arriving.request_hours)
      where a.id = home.id;
    end if;
  end if;

  insert into account_move (id, direction, account_id, other_cell, other_account, amount, rest)
  values (move, 'in', home.id, from_cell, arriving.id, amount, rest);
  if amount <> 0 then
    perform ledger_transfer(
      case when amount > 0 then clearing else home.id end,
      case when amount > 0 then home.id else clearing end,
      abs(amount), 'clearing', uuid_send(move), 'from cell ' || from_cell);
  end if;
  if not rest then
    delete from api_key k where k.id in (
      select key.id from json_populate_recordset(null::api_key, contents -> 'keys') key);
    delete from budget b where b.id in (
      select spent.id from json_populate_recordset(null::budget, contents -> 'budgets') spent);
    insert into budget
    select (json_populate_record(spent, json_build_object('account_id', home.id))).*
    from json_populate_recordset(null::budget, contents -> 'budgets') spent;
    insert into api_key
    select (json_populate_record(key, json_build_object(
      'account_id', home.id, 'issued_by', nullif(coalesce(key.issued_by, from_cell), own_cell)))).*
    from json_populate_recordset(null::api_key, contents -> 'keys') key;
    -- Of a cell that does not know them, there are none.
    insert into oauth_grant
    select used.* from json_populate_recordset(null::oauth_grant, coalesce(contents -> 'grants', '[]')) used;
    perform pg_notify('toolgate_moved_keys', '');
  end if;
  return home.id;
end
$$;
