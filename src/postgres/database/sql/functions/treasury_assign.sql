-- Assigns a transfer in suspense to an account or, without one, to the operator. Returns "assigned",
-- "repeated", "other" (it was assigned to another), "unknown" (no such transfer in suspense) or "no_account".
create or replace function treasury_assign(network text, reference bytea, account uuid, reason text)
returns text language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_variable
declare
  suspense constant uuid := '00000000-0000-0000-0000-000000000003';
  operator constant uuid := '00000000-0000-0000-0000-000000000005';
  given payment;
  target constant uuid := coalesce(account, operator);
begin
  select p.* into given from payment p
  where p.network = network and p.reference = reference and p.account_id = suspense and not p.reversed
  for update;
  if not found then
    return 'unknown';
  end if;
  if account is not null and not exists (select from account a where a.id = account) then
    return 'no_account';
  end if;
  if given.assigned_to is not null then
    return case when given.assigned_to = target then 'repeated' else 'other' end;
  end if;
  update payment p set assigned_to = target where p.network = network and p.reference = reference;
  perform ledger_transfer(
    suspense, target, given.amount, 'assignment', payment_ref(network, reference), reason);
  perform event_deposit(target, network, reference);
  return 'assigned';
end
$$;
