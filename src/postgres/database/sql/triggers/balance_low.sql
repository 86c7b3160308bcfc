-- Writes an event when a balance falls below its threshold, and not again until a credit raises it to the
-- threshold: holds that are released do not count as such. Whatever changes a balance passes here; an account
-- without a threshold costs one comparison.
create or replace function balance_low() returns trigger language plpgsql security definer
set search_path = public, pg_temp set enable_seqscan = off as $$
begin
  if new.available < new.low_balance then
    perform event_add(new.id, 'balance.low', jsonb_build_object(
      'account_id', 'acct_' || encode(uuid_send(new.id), 'hex'),
      'balance_usdc_microusd', new.available, 'low_balance_usdc_microusd', new.low_balance));
  elsif not exists (
    -- Ids of transfers begin with the time of their transaction.
    select from transfer
    where credit = new.id and kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment')
      and id >= encode(ledger_time() || '\x0000000000000000'::bytea, 'hex')::uuid
  ) then
    return null;
  end if;
  update account set low_balance_reported = new.available < new.low_balance where id = new.id;
  return null;
end
$$;

create or replace trigger balance_low
after update of available on account
for each row when ((new.available < new.low_balance) <> new.low_balance_reported)
execute function balance_low();
