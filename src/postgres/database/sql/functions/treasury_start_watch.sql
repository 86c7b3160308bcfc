-- Starts the statement of a token account. Its earlier balance is the operator's.
create or replace function treasury_start_watch(token bytea, amount bigint, at_slot bigint)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
  operator constant uuid := '00000000-0000-0000-0000-000000000005';
begin
  insert into treasury_watch (token_account, slot, opening_amount, opening_slot, expected, installed_at)
  select token, at_slot, amount, at_slot, amount,
    least((select min(installed_at) from treasury_watch), (select min(created_at) from sealing_key), now())
  on conflict do nothing;
  if found and amount > 0 then
    insert into transfer (debit, credit, amount, kind, ref)
    values (treasury, operator, amount, 'opening', token);
  end if;
end
$$;
