-- What is known of each call, without a lock: by its own run (sent again after a lost response), by its
-- claim, by what the payment of that claim has bought since under another claim, by its payment and that
-- payment's claim, by its quote. The verdict is null for a new call, whose payment may have been credited
-- without buying anything; "credited": its payment was credited for this very call, which then failed. A
-- stored result is replayed also when its payment was reversed since.
create or replace function ledger_lookup(calls ledger_call[], instance uuid)
returns table (call ledger_call, verdict text, payment_claim text, replay_run uuid, result json)
language sql stable rows 10
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
select call,
  case
    when own.status = 'active' and own.owner = instance then 'started'
    when own.id is not null then 'in_progress'
    when misused.verdict is not null and not call.keyed then misused.verdict
    when claim.fingerprint <> call.fingerprint then 'mismatch'
    when claim.state = 'running' and claim.run_id is distinct from call.run_id then 'in_progress'
    when claim.state = 'done' then 'replay'
    when bought.state = 'running' and bought.run_id is distinct from call.run_id then 'in_progress'
    when bought.state = 'done' then 'replay'
    when misused.verdict is not null then misused.verdict
    when paid.state = 'running' and paid.run_id is distinct from call.run_id then 'in_progress'
    when paid.state = 'done' then 'replay'
    when payment.reversed then 'reversed'
    when payment.settled and paid.state is null then 'payment_used'
    when payment.settled then 'credited'
    when (select true from payment other where other.quote_id = call.quote_id and other.settled)
      then 'quote_paid'
  end,
  coalesce(payment.claim_key, former.claim_key),
  case 'done' when claim.state then claim.run_id when bought.state then bought.run_id else paid.run_id end,
  coalesce(claim.result, bought.result, paid.result)
from unnest(calls) call
left join lateral (select * from run where id = call.run_id offset 0) own on true
left join lateral (
  select * from idempotency where account_id = call.account_id and key = call.claim_key offset 0
) claim on true
left join lateral (
  select * from payment
  where network = claim.network and reference = claim.reference and account_id = call.account_id offset 0
) former on true
left join lateral (
  select * from idempotency
  where account_id = former.account_id and key = former.claim_key and fingerprint = call.fingerprint offset 0
) bought on true
left join lateral (
  select * from payment
  where network = (call.payment).network and reference = (call.payment).reference offset 0
) payment on true
left join lateral (
  select * from idempotency where account_id = payment.account_id and key = payment.claim_key offset 0
) paid on true
cross join lateral (
  select case
    when payment.account_id <> call.account_id or payment.quote_id <> call.quote_id
      or payment.fingerprint <> call.fingerprint
    then case
      when payment.reversed then 'reversed'
      -- The suspense account.
      when payment.account_id = '00000000-0000-0000-0000-000000000003' then 'unassigned'
      else 'payment_used' end
    end
) misused (verdict)
$$;
