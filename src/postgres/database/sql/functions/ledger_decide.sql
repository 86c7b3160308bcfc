-- The first step of ledger_authorize: decides what can be decided without a lock. Returns arrays by the
-- calls' numbers, and whether any call has a claim ("claimed"), any or its claim has a payment ("proved").
-- The result of a "capped" call is the limit.
create or replace function ledger_decide(
  calls ledger_call[], instance uuid,
  out claimed boolean, out proved boolean, out kinds text[], out balances bigint[], out results json[],
  out replays uuid[], out payment_claims text[]
)
language plpgsql as $$
#variable_conflict use_column
declare
  item record;
begin
  claimed := false;
  proved := false;
  for item in
    select (prior.call).*, prior.verdict, prior.payment_claim, prior.replay_run, prior.result,
      account.available, account.frozen, account.moved_to,
      case when account.limits_version > 0 and (prior.call).price > 0
        and ((prior.call).payment).reference is null
        then budget_refusal((prior.call).key_id, (prior.call).tool, (prior.call).price) end as refusal
    from ledger_lookup(calls, instance) prior
    left join lateral (
      select available, frozen, moved_to, limits_version from account
      where id = (prior.call).account_id offset 0
    ) account on true
  loop
    kinds[item.n] := case
      when item.frozen and coalesce(item.verdict, 'credited') in ('credited', 'quote_paid') then 'frozen'
      when (item.payment).reference is not null and item.deposit is null
        and coalesce(item.verdict, 'quote_paid') = 'quote_paid' then 'payment_used'
      when item.verdict is not null then item.verdict
      when item.refusal is not null
        and approval_of(item.refusal, item.key_id, item.fingerprint, item.price) is null then 'capped'
      when (item.payment).reference is null and item.price > 0 and item.available < item.price
        then 'insufficient'
      else 'new' end;
    balances[item.n] := case kinds[item.n] when 'frozen' then item.moved_to else item.available end;
    results[item.n] := case kinds[item.n] when 'capped' then item.refusal else item.result end;
    replays[item.n] := item.replay_run;
    payment_claims[item.n] := item.payment_claim;
    claimed := claimed or item.claim_key is not null;
    proved := proved or (item.payment).reference is not null or item.payment_claim is not null;
  end loop;
end
$$;
