-- A step of ledger_authorize: locks accounts, and grants calls in order of arrival as long as the balance and
-- the limits of the key and its group cover them, or its account holder has allowed the call. Their budgets
-- count what is granted.
create or replace function ledger_grant(
  calls ledger_call[], inout kinds text[], inout balances bigint[], inout results json[],
  deposited payment_key[], out groups uuid[], out starts timestamptz[],
  out seqs bigint[]
)
language plpgsql as $$
#variable_conflict use_column
declare
  current_account uuid;
  available bigint;
  seq bigint;
  stopped boolean;
  counts boolean;          -- whether budgets may count the call
  refusal json;
  taken record;
  item record;
begin
  -- Without a condition outside, which PostgreSQL would apply before it locks.
  select bool_or(locked.frozen) into stopped from (
    select frozen from account
    where id = any (array(
      select call.account_id from unnest(calls) call
      where kinds[call.n] in ('new', 'credited', 'quote_paid')))
    order by id
    for update
  ) locked;
  if stopped then
    raise serialization_failure using message = 'an account has just been frozen';
  end if;

  for item in
    select call.*, account.available, account.seq, account.limits_version
    from unnest(calls) call
    cross join lateral (
      select available, seq, limits_version from account where id = call.account_id offset 0
    ) account
    where kinds[call.n] in ('new', 'credited', 'quote_paid')
    order by call.account_id, call.n
  loop
    if item.account_id is distinct from current_account then
      current_account := item.account_id;
      available := item.available;
      seq := item.seq;
    end if;
    if item.payment = any (deposited) then
      available := available + item.deposit;
      seq := seq + 1;
    end if;
    balances[item.n] := available;
    seqs[item.n] := seq;
    counts := item.limits_version > 0 and item.price > 0 and (item.payment).reference is null;
    if counts then
      refusal := budget_refusal(item.key_id, item.tool, item.price);
      if refusal is not null and available >= item.price
        and approval_take(refusal, item.key_id, item.fingerprint, item.price) then
        refusal := null;
      end if;
      if refusal is not null then
        kinds[item.n] := 'capped';
        results[item.n] := refusal;
        continue;
      end if;
    end if;
    if kinds[item.n] <> 'quote_paid' then
      if available >= item.price or item.price = 0 then
        kinds[item.n] := 'granted';
        available := available - item.price;
        seq := seq + (item.price > 0)::integer;
        balances[item.n] := available;
        seqs[item.n] := seq;
        if counts then
          select * into taken from budget_take(item.key_id, item.price);
          groups[item.n] := taken.group_id;
          starts[item.n] := taken.started_at;
        end if;
      else
        kinds[item.n] := 'insufficient';
      end if;
    end if;
  end loop;

  if kinds && array['capped', 'insufficient'] then
    -- A call without a claim that is sent twice may run since the first step: what it lacks, it holds itself.
    for item in
      select call.n from unnest(calls) call
      where kinds[call.n] in ('capped', 'insufficient')
        and call.claim_key is null and (select true from run where id = call.run_id)
    loop
      kinds[item.n] := 'again';
    end loop;
  end if;
  if kinds && array['new', 'credited'] then
    raise exception 'a call names an account that does not exist';
  end if;
end
$$;
