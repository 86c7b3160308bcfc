-- The first step of ledger_authorize: decides what can be decided without a lock. Returns arrays by the
-- calls' numbers, and whether anything is known of any call ("known"), any has a claim ("claimed"), any or
-- its claim has a payment ("proved"), any has a daily limit ("limited").
create or replace function ledger_decide(
  calls ledger_call[], instance uuid,
  out known boolean, out claimed boolean, out proved boolean, out limited boolean,
  out kinds text[], out balances bigint[], out results json[], out replays uuid[], out payment_claims text[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  today constant date = (now() at time zone 'utc')::date;
  decision refcursor;
  item record;
begin
  claimed := false;
  proved := false;
  limited := false;
  -- Most calls are new: their runs and claims show it. A full lookup takes a third of the time of this
  -- function for one call. The balances are read before that: a call that is authorized in between is then
  -- known, and not only seen by its hold.
  open decision for
    select call.*, null::text as verdict, null::text as payment_claim, null::uuid as replay_run,
      null::json as result, account.available,
      case when call.day_limit is not null then coalesce((
        select budget.spent from key_budget budget
        where budget.budget_id = call.budget_id and budget.day = today
      ), 0) end as spent
    from unnest(calls) call
    left join lateral (select available from account where id = call.account_id offset 0) account on true;
  known := (
    select true from unnest(calls) call
    where call.tx_signature is not null
      or (select true from run where id = call.run_id)
      or (select true from idempotency where account_id = call.account_id and key = call.claim_key)
    limit 1);
  if known then
    close decision;
    open decision for
      select (prior.call).*, prior.verdict, prior.payment_claim, prior.replay_run, prior.result,
        account.available,
        case when (prior.call).day_limit is not null then coalesce((
          select budget.spent from key_budget budget
          where budget.budget_id = (prior.call).budget_id and budget.day = today
        ), 0) end as spent
      from ledger_lookup(calls, instance) prior
      left join lateral (
        select available from account where id = (prior.call).account_id offset 0
      ) account on true;
  end if;

  loop
    fetch decision into item;
    exit when not found;
    kinds[item.n] := case
      when item.tx_signature is not null and item.deposit is null
        and coalesce(item.verdict, 'quote_paid') = 'quote_paid' then 'payment_used'
      when item.verdict is not null then item.verdict
      when item.spent + item.price > item.day_limit then 'capped'
      when item.tx_signature is null and item.price > 0 and item.available < item.price then 'insufficient'
      else 'new' end;
    balances[item.n] := case kinds[item.n] when 'capped' then item.spent else item.available end;
    results[item.n] := item.result;
    replays[item.n] := item.replay_run;
    payment_claims[item.n] := item.payment_claim;
    claimed := claimed or item.claim_key is not null;
    proved := proved or item.tx_signature is not null or item.payment_claim is not null;
    limited := limited or item.day_limit is not null;
  end loop;
  close decision;
end
$$;

revoke execute on function ledger_decide from public;
