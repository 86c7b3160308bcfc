-- A step of ledger_authorize: locks accounts and budgets, and grants calls in order of arrival as long as the
-- balance and the key's daily limit cover them.
create or replace function ledger_grant(
  calls ledger_call[], inout kinds text[], inout balances bigint[], deposited payment_key[], limited boolean
)
language plpgsql
as $$
#variable_conflict use_column
declare
  today constant date = (now() at time zone 'utc')::date;
  current_account uuid;
  available bigint;
  spent jsonb = '{}';      -- by budget: spent today
  budget_spent bigint;
  item record;
begin
  perform from (
    select frozen from account
    where id = any (array(
      select call.account_id from unnest(calls) call
      where kinds[call.n] in ('new', 'credited', 'quote_paid')))
    order by id
    for update
  ) locked
  where frozen;
  if found then
    raise serialization_failure using message = 'an account has just been frozen';
  end if;

  -- A budget without a row gets it later (ledger_hold): its account is locked until then.
  if limited then
    select coalesce(jsonb_object_agg(locked.budget_id, locked.spent), '{}') into spent
    from (
      select budget.budget_id, budget.spent from key_budget budget
      where budget.budget_id = any (array(
          select distinct call.budget_id from unnest(calls) call
          where kinds[call.n] = 'new' and call.day_limit is not null))
        and budget.day = today
      order by budget.budget_id
      for update
    ) locked;
  end if;

  for item in
    select call.*, account.available
    from unnest(calls) call
    cross join lateral (select available from account where id = call.account_id offset 0) account
    where kinds[call.n] in ('new', 'credited', 'quote_paid')
    order by call.account_id, call.n
  loop
    if item.account_id is distinct from current_account then
      current_account := item.account_id;
      available := item.available;
    end if;
    if item.payment = any (deposited) then
      available := available + item.deposit;
    end if;
    balances[item.n] := available;
    if item.day_limit is not null then
      budget_spent := coalesce((spent ->> item.budget_id::text)::bigint, 0);
      if budget_spent + item.price > item.day_limit then
        kinds[item.n] := 'capped';
        balances[item.n] := budget_spent;
        continue;
      end if;
    end if;
    if kinds[item.n] <> 'quote_paid' then
      if available >= item.price or item.price = 0 then
        kinds[item.n] := 'granted';
        available := available - item.price;
        balances[item.n] := available;
        if item.day_limit is not null then
          spent := spent || jsonb_build_object(item.budget_id, budget_spent + item.price);
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

revoke execute on function ledger_grant from public;
