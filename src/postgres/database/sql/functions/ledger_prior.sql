create or replace function ledger_prior(asked json)
returns table (n integer, kind text, result json, receipt issued_receipt, payment_claim text)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  call constant ledger_call := json_populate_record(null::ledger_call, asked);
  judged record;
begin
  select * into judged from ledger_judge(array[call], null);
  if judged.verdict = 'replay' and call.keyed and judged.payment_claim <> call.claim_key and not exists (
    select from idempotency where account_id = call.account_id and key = call.claim_key and state = 'done'
  ) then
    insert into idempotency as claim (account_id, key, fingerprint, state, run_id, result, expires_at)
    values (call.account_id, call.claim_key, call.fingerprint, 'done', judged.replay_run, judged.result, 'infinity')
    on conflict (account_id, key) do update set state = 'done', run_id = excluded.run_id, result = excluded.result, expires_at = excluded.expires_at
    where claim.state = 'retryable';
  end if;
  return query
    select 1, judged.verdict, judged.result,
      case judged.verdict when 'replay' then (
select row(
  receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id, receipt.tx_signature,
  receipt.quoted, receipt.debited, coalesce(refund.amount, 0), receipt.paid_by,
  case when payment.reversed then 'reversed' when refund.amount is not null then 'refunded' else 'final' end,
  receipt.created_at)::issued_receipt
from (select * from receipt where run_id = judged.replay_run offset 0) receipt
left join lateral (select amount from transfer where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0) refund on true
left join lateral (select reversed from payment where tx_signature = receipt.tx_signature offset 0) payment on true) end, judged.payment_claim;
end
$$;

revoke execute on function ledger_prior from public;
