-- Credits a payment that buys no call. Returns false if it was credited before.
create or replace function ledger_credit(
  account uuid, network text, reference bytea, amount bigint, quote text, payer text, slot bigint,
  block_time timestamptz, finalized boolean, paid_by text
)
returns boolean language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
begin
  insert into payment (
    network, reference, account_id, quote_id, amount, settled, payer, slot, block_time, finalized, paid_by)
  values (network, reference, account, quote, amount, false, payer, slot, block_time, finalized, paid_by)
  on conflict do nothing;
  if not found then
    return false;
  end if;
  if ledger_transfer(treasury, account, amount, 'deposit', payment_ref(network, reference)) is null then
    raise exception 'a deposit names an account that does not exist';
  end if;
  perform event_deposit(account, network, reference);
  return true;
end
$$;
