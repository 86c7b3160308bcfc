-- Relies on READ COMMITTED: what is read after a lock is current.
create or replace function ledger_begin(calls ledger_call[], instance uuid, lease interval)
returns table (n integer, kind text, balance bigint, result json, receipt issued_receipt)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
  kinds text[];
  balances bigint[];
  results json[];
  replays uuid[];
  payment_claims text[];  -- which claim the payment of each call or of its claim pointed to when the claims were locked
  claimed boolean = false; -- whether any call has a claim
  proved boolean = false; -- whether any call or its claim has a payment
  limited boolean = false; -- whether any call is bound by its key's limit for the day
  deposited bytea[] = '{}'; -- the payments that this transaction credits
  credited bytea[];       -- the payments that were credited before
  adopted bytea[] = '{}'; -- those of them that bought nothing, and buy their call now
  known boolean;          -- whether anything is known of any call
  judgement refcursor;
  made bigint;            -- claims that this transaction makes
  item record;
  current_account uuid;
  available bigint;
  today constant date = (now() at time zone 'utc')::date; -- when the runs start
  budgets uuid[] = '{}';  -- those that calls may take from
  taken jsonb = '{}';     -- what is taken of each of them today
  spent bigint;
begin
  -- Most calls are new, and a glance at their runs and claims shows it. To judge is to look for everything
  -- that calls may be known by, which for one call takes a third of all that is done here. The balances are
  -- those of before the glance: a call that was begun meanwhile is seen by it, and not by its hold alone.
  open judgement for 
select (judged.call).*, judged.verdict, judged.payment_claim, judged.replay_run, judged.result, account.available,
  case when (judged.call).day_limit is not null then coalesce((
    select budget.spent from key_budget budget where budget.budget_id = (judged.call).budget_id and budget.day = today
  ), 0) end as spent
from (
select call, null::text as verdict, null::text as payment_claim, null::uuid as replay_run, null::json as result from unnest(calls) call) judged
left join lateral (select available from account where id = (judged.call).account_id offset 0) account on true;
  known := (
    select true from unnest(calls) call
    where call.tx_signature is not null
      or (select true from run where id = call.run_id)
      or (select true from idempotency where account_id = call.account_id and key = call.claim_key)
    limit 1);
  if known then
    close judgement;
    open judgement for 
select (judged.call).*, judged.verdict, judged.payment_claim, judged.replay_run, judged.result, account.available,
  case when (judged.call).day_limit is not null then coalesce((
    select budget.spent from key_budget budget where budget.budget_id = (judged.call).budget_id and budget.day = today
  ), 0) end as spent
from ledger_judge(calls, instance) judged
left join lateral (select available from account where id = (judged.call).account_id offset 0) account on true;
  end if;

  -- Repeats and refusals need no lock and write nothing.
  loop
    fetch judgement into item;
    exit when not found;
    kinds[item.n] := case
      when item.tx_signature is not null and item.deposit is null and coalesce(item.verdict, 'quote_paid') = 'quote_paid' then 'payment_used'
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
  close judgement;

  if kinds && array['new', 'credited', 'quote_paid'] then
    if claimed then
      -- Claims: make the new ones, lock them all, and those that the payments point to.
      insert into idempotency (account_id, key, fingerprint, state, run_id, tx_signature, expires_at)
      select call.account_id, call.claim_key, call.fingerprint, 'running', call.run_id, call.tx_signature,
             case when call.tx_signature is null then now() + interval '48 hours' else 'infinity' end
      from unnest(calls) call
      where kinds[call.n] in ('new', 'credited') and call.claim_key is not null
      order by call.account_id, call.claim_key
      on conflict do nothing;
      get diagnostics made = row_count;

      perform from (
        select call.account_id, call.claim_key from unnest(calls) call where kinds[call.n] in ('new', 'credited')
        union select call.account_id, payment_claims[call.n] from unnest(calls) call where kinds[call.n] in ('new', 'credited')
        order by account_id, claim_key
      ) wanted
      cross join lateral (
        select from idempotency claim where claim.account_id = wanted.account_id and claim.key = wanted.claim_key for update of claim
      ) locked;

      -- Judge again, now that the claims stand still, unless all are new. Left for the next turn is a call
      -- whose claim was forgotten meanwhile, and one whose payment points elsewhere than before, or where an
      -- earlier call of this batch has to do with it.
      for item in
        select (judged.call).*, judged.*
        from ledger_judge(array(select call from unnest(calls) call where kinds[call.n] in ('new', 'credited', 'quote_paid')), instance) judged
        where known or made < (select count(claim_key) from unnest(calls) call where kinds[call.n] in ('new', 'credited'))
      loop
        kinds[item.n] := case
          when coalesce(item.verdict, 'credited') = 'credited' and (
            item.payment_claim is distinct from payment_claims[item.n]
            or item.claim_key is not null and not exists (
              select from idempotency where account_id = item.account_id and key = item.claim_key)
            or item.payment_claim is not null and exists (
              select from unnest(calls) other
              where other.account_id = item.account_id and other.n < item.n
                and item.payment_claim in (other.claim_key, payment_claims[other.n]))
          ) then 'again'
          else coalesce(item.verdict, 'new') end;
        results[item.n] := item.result;
        replays[item.n] := item.replay_run;
      end loop;
    end if;

    if proved then
      -- Payments: insert the new ones.
      with inserted as (
        insert into payment (tx_signature, account_id, quote_id, amount, settled, fingerprint, claim_key, payer, slot, block_time, finalized, paid_by)
        select call.tx_signature, call.account_id, call.quote_id, call.deposit, kinds[call.n] = 'new',
               case kinds[call.n] when 'new' then call.fingerprint end, case kinds[call.n] when 'new' then call.claim_key end, call.payer, call.slot, call.block_time, call.finalized, call.paid_by
        from unnest(calls) call
        where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null
        order by call.tx_signature
        on conflict do nothing
        returning tx_signature
      )
      select coalesce(array_agg(tx_signature), '{}') into deposited from inserted;

      -- Those that were credited before stand still from here on: none is reversed while it buys a call.
      credited := array(
        select call.tx_signature from unnest(calls) call
        where kinds[call.n] = 'credited' or (kinds[call.n] = 'new' and call.deposit is not null and call.tx_signature <> all (deposited))
        union
        select claim.tx_signature from unnest(calls) call
        cross join lateral (
          select tx_signature from idempotency where account_id = call.account_id and key = call.claim_key offset 0
        ) claim
        where kinds[call.n] = 'new' and payment_claims[call.n] <> call.claim_key);
      if credited <> '{}' then
        perform from payment where tx_signature = any (credited) order by tx_signature for update;
        begin
          with adoption as (
            update payment set settled = true, fingerprint = call.fingerprint, claim_key = call.claim_key
            from unnest(calls) call
            where payment.tx_signature = any (credited)
              and kinds[call.n] = 'new' and payment.tx_signature = call.tx_signature and payment.tx_signature <> all (deposited)
              and payment.account_id = call.account_id and payment.quote_id = call.quote_id and not payment.settled and not payment.reversed
            returning payment.tx_signature
          )
          select coalesce(array_agg(tx_signature), '{}') into adopted from adoption;
        exception when unique_violation then
          -- Another payment of the quote came first.
        end;
      end if;

      for item in
        select call.n from unnest(calls) call
        where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null and call.tx_signature <> all (deposited || adopted)
          and (kinds[call.n] = 'new' or coalesce((select payment.settled from payment where payment.tx_signature = call.tx_signature), true))
        union all
        select call.n from unnest(calls) call
        where kinds[call.n] = 'credited' and (select payment.reversed from payment where payment.tx_signature = call.tx_signature)
      loop
        kinds[item.n] := 'again';
      end loop;
    end if;

    -- Accounts.
    perform from account
    where id = any (array(select call.account_id from unnest(calls) call where kinds[call.n] in ('new', 'credited', 'quote_paid')))
    order by id
    for update;

    if limited then
      -- Budgets last. One that has no row yet gets it below: whoever takes from it has its account locked.
      budgets := array(select distinct call.budget_id from unnest(calls) call where kinds[call.n] = 'new' and call.day_limit is not null);
      if budgets <> '{}' then
        select coalesce(jsonb_object_agg(locked.budget_id, locked.spent), '{}') into taken
        from (
          select budget.budget_id, budget.spent from key_budget budget
          where budget.budget_id = any (budgets) and budget.day = today
          order by budget.budget_id
          for update
        ) locked;
      end if;
    end if;

    -- Grant in order of arrival whatever the balance and the key's limit for the day still cover.
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
      if item.tx_signature = any (deposited) then
        available := available + item.deposit;
      end if;
      balances[item.n] := available;
      if item.day_limit is not null then
        spent := coalesce((taken ->> item.budget_id::text)::bigint, 0);
        if spent + item.price > item.day_limit then
          kinds[item.n] := 'capped';
          balances[item.n] := spent;
          continue;
        end if;
      end if;
      if kinds[item.n] <> 'quote_paid' then
        if available >= item.price or item.price = 0 then
          kinds[item.n] := 'granted';
          available := available - item.price;
          balances[item.n] := available;
          if item.day_limit is not null then
            taken := taken || jsonb_build_object(item.budget_id, spent + item.price);
          end if;
        else
          kinds[item.n] := 'insufficient';
        end if;
      end if;
    end loop;
    if kinds && array['capped', 'insufficient'] then
      -- A call without a claim that is sent again may have begun since the glance: what it lacks, it holds
      -- itself.
      for item in
        select call.n from unnest(calls) call
        where kinds[call.n] in ('capped', 'insufficient') and call.claim_key is null and (select true from run where id = call.run_id)
      loop
        kinds[item.n] := 'again';
      end loop;
    end if;
    if kinds && array['new', 'credited'] then
      raise exception 'a call names an account that does not exist';
    end if;

    if claimed then
      -- Claims that start: take over the retryable ones. Claims that do not: leave those of a credited
      -- payment for the retry. A claim that a payment points to, or once did, never expires.
      for item in
        select call.* from unnest(calls) call
        cross join lateral (select state from idempotency where account_id = call.account_id and key = call.claim_key offset 0) claim
        where kinds[call.n] = 'granted' and claim.state = 'retryable'
      loop
        update idempotency claim
        set state = 'running', run_id = item.run_id, tx_signature = coalesce(item.tx_signature, claim.tx_signature),
            expires_at = case when item.tx_signature is null then greatest(claim.expires_at, now() + interval '48 hours') else 'infinity' end
        where claim.account_id = item.account_id and claim.key = item.claim_key;
      end loop;

      for item in
        select call.* from unnest(calls) call where kinds[call.n] not in ('granted', 'started') and call.claim_key is not null
      loop
        if kinds[item.n] = 'insufficient' and item.tx_signature = any (deposited || adopted) then
          update idempotency claim set state = 'retryable', tx_signature = item.tx_signature, expires_at = 'infinity'
          where claim.account_id = item.account_id and claim.key = item.claim_key;
        end if;
        delete from idempotency claim
        where claim.account_id = item.account_id and claim.key = item.claim_key and claim.run_id = item.run_id and claim.state = 'running';
      end loop;
    end if;

    if proved then
      -- The payment of a claim that starts points to it: whatever keys it came with stand for one call.
      update payment set claim_key = claim.key
      from unnest(calls) call
      cross join lateral (
        select key, tx_signature from idempotency where account_id = call.account_id and key = call.claim_key offset 0
      ) claim
      where payment.tx_signature = any (credited || deposited)
        and kinds[call.n] = 'granted' and payment_claims[call.n] <> call.claim_key and payment.tx_signature = claim.tx_signature;

      -- The money.
      insert into transfer (debit, credit, amount, kind, ref)
      select treasury, call.account_id, call.deposit, 'deposit', call.tx_signature
      from unnest(calls) call where call.tx_signature = any (deposited);
    end if;

    insert into run (
      id, account_id, tool, status, owner, lease_until, price, claim_key, quote_id, step_id, tx_signature, paid_by, created_at, started_at,
      key_id, budget_id)
    select call.run_id, call.account_id, call.tool, 'active', instance, now() + lease, call.price, call.claim_key,
           call.quote_id, call.step_id, call.tx_signature, coalesce(payment.paid_by, 'balance'),
           -- The time in the identifier, by which runs are listed.
           to_timestamp(('x' || substr(encode(uuid_send(call.run_id), 'hex'), 1, 12))::bit(48)::bigint / 1000.0),
           now(), call.key_id, call.budget_id
    from unnest(calls) call
    left join lateral (select paid_by from payment where tx_signature = call.tx_signature offset 0) payment on true
    where kinds[call.n] = 'granted';

    insert into hold (run_id, account_id, amount, state)
    select call.run_id, call.account_id, call.price, 'open'
    from unnest(calls) call
    where kinds[call.n] = 'granted' and call.price > 0;

    update account set available = account.available + change.amount
    from (
      select call.account_id, sum(
        case when call.tx_signature = any (deposited) then call.deposit else 0 end
        - case when kinds[call.n] = 'granted' then call.price else 0 end) as amount
      from unnest(calls) call
      group by call.account_id
    ) change
    where account.id = any (array(select call.account_id from unnest(calls) call))
      and account.id = change.account_id and change.amount <> 0;

    if budgets <> '{}' then
      insert into key_budget as budget (budget_id, day, spent)
      select call.budget_id, today, sum(call.price)
      from unnest(calls) call
      where kinds[call.n] = 'granted' and call.budget_id is not null
      group by call.budget_id
      order by call.budget_id
      on conflict (budget_id, day) do update set spent = budget.spent + excluded.spent;
    end if;
  end if;

  return query
    select call.n, case kinds[call.n] when 'granted' then 'started' else kinds[call.n] end, balances[call.n], results[call.n],
      case kinds[call.n] when 'replay' then (
select row(
  receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id, receipt.tx_signature,
  receipt.quoted, receipt.debited, coalesce(refund.amount, 0), receipt.paid_by,
  case when payment.reversed then 'reversed' when refund.amount is not null then 'refunded' else 'final' end,
  receipt.created_at)::issued_receipt
from (select * from receipt where run_id = replays[call.n] offset 0) receipt
left join lateral (select amount from transfer where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0) refund on true
left join lateral (select reversed from payment where tx_signature = receipt.tx_signature offset 0) payment on true) end
    from unnest(calls) call;
end
$$;

revoke execute on function ledger_begin from public;
