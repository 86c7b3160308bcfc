-- Records one movement of the treasury, once. Outcomes are those of the port. Locks the payment before it
-- writes the movement: a concurrent record of the same movement, and a call that proves its payment with the
-- same transaction, wait for it. Lock order: payment, watch, account.
create or replace function treasury_record(
  token bytea, signature bytea, at_slot bigint, at_time timestamptz, change bigint,
  owner uuid, quote text, memos text, payer text
)
returns text language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  solana constant text := 'solana-mainnet';
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
  suspense constant uuid := '00000000-0000-0000-0000-000000000003';
  operator constant uuid := '00000000-0000-0000-0000-000000000005';
  holder uuid;
  known payment;
  outcome text := 'withdrawn';
begin
  if change = 0 or exists (
    select from treasury_movement m where m.token_account = token and m.tx_signature = signature
  ) then
    return 'known';
  end if;

  if change > 0 then
    holder := coalesce((select a.id from account a where a.id = owner and quote is not null), suspense);
    insert into payment (
      network, reference, account_id, quote_id, amount, settled, payer, slot, block_time, finalized, paid_by,
      memos)
    values (
      solana, signature, holder, case when holder <> suspense then quote end, change, false, payer, at_slot,
      at_time, true, 'transfer', case when holder = suspense then memos end)
    on conflict do nothing;
    if found then
      outcome := case when holder = suspense then 'suspended' else 'credited' end;
    else
      select p.* into known from payment p
      where p.network = solana and p.reference = signature for update;
      if known.amount <> change then
        return 'mismatch';
      end if;
      outcome := case when known.reversed then 'reinstated' else 'finalized' end;
    end if;
  end if;

  insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
  values (token, signature, at_slot, at_time, change)
  on conflict do nothing;
  if not found then
    if outcome in ('credited', 'suspended') then
      raise exception 'a movement has no payment';
    end if;
    return 'known';
  end if;
  update treasury_watch w set expected = w.expected + change where w.token_account = token;
  if not found then
    raise exception 'the watch of this token account has not started';
  end if;

  case outcome
    when 'withdrawn' then
      perform ledger_transfer(operator, treasury, -change, 'withdrawal', token || signature);
      return outcome;
    when 'finalized' then
      update payment p set finalized = true, slot = at_slot, block_time = at_time
      where p.network = solana and p.reference = signature;
      return outcome;
    when 'reinstated' then
      update payment p set finalized = true, reversed = false, slot = at_slot, block_time = at_time
      where p.network = solana and p.reference = signature;
      select t.debit into strict holder
      from transfer t where t.kind = 'reversal' and t.ref = payment_ref(solana, signature);
      perform ledger_transfer(treasury, holder, change, 'reinstatement', payment_ref(solana, signature));
    else
      perform ledger_transfer(treasury, holder, change, 'deposit', payment_ref(solana, signature));
  end case;
  if outcome = 'suspended' then
    perform event_add(operator, 'suspense.received', jsonb_build_object(
      'amount_usdc_microusd', change, 'network', solana, 'reference', encode(signature, 'hex'),
      'payer', payer, 'memos', memos));
  else
    perform event_deposit(holder, solana, signature);
  end if;
  return outcome;
end
$$;
