-- Authorizes a batch of calls: claims their keys, credits their payments, holds their prices and starts their
-- runs. Kinds are those of the port, and "again": another transaction interfered, so the call has to be sent
-- again. While it works a call is "new" or "credited" (its payment was credited before) until it is
-- "granted", or "quote_paid": its payment is credited and buys nothing. For "capped" the result is the limit
-- that the call exceeds (budget_refusal), for "frozen" the balance is the cell that has the account.
--
-- The steps lock in the order of all functions of the ledger: run, idempotency, payment, account, budget;
-- within a table by primary key. READ COMMITTED: what is read after a lock is current. Their plans are made
-- with the settings of this function.
create or replace function ledger_authorize(calls ledger_call[], instance uuid, lease interval)
returns table (
  n integer, kind text, balance bigint, result json, receipt issued_receipt, replayed_run uuid
)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  prior record;            -- what is known of the calls before anything is locked
  kinds text[];
  balances bigint[];
  results json[];
  replays uuid[];          -- runs whose results are replayed
  payments record;
  deposited payment_key[] = '{}';
  credited payment_key[];
  adopted payment_key[] = '{}';
  groups uuid[];           -- what granted calls count in
  starts timestamptz[];    -- when they start, if not now
  seqs bigint[];           -- the account's number after each call
begin
  if ledger_start_proved(calls, instance, lease) then
    return query
      select call.n, 'started', null::bigint, null::json, null::issued_receipt, null::uuid
      from unnest(calls) call;
    return;
  end if;

  select * into prior from ledger_decide(calls, instance);
  kinds := prior.kinds;
  balances := prior.balances;
  results := prior.results;
  replays := prior.replays;

  -- Replays and refusals need no lock and write nothing.
  if kinds && array['new', 'credited', 'quote_paid'] then
    if prior.claimed then
      select claim.kinds, claim.results, claim.replays into kinds, results, replays
      from ledger_claim(calls, instance, prior.proved, kinds, results, replays, prior.payment_claims) claim;
    end if;
    if prior.proved then
      select * into payments from ledger_credit_payments(calls, kinds, prior.payment_claims);
      kinds := payments.kinds;
      deposited := payments.deposited;
      credited := payments.credited;
      adopted := payments.adopted;
    end if;
    select granted.kinds, granted.balances, granted.results, granted.groups, granted.starts, granted.seqs
    into kinds, balances, results, groups, starts, seqs
    from ledger_grant(calls, kinds, balances, results, deposited) granted;
    if prior.claimed then
      perform ledger_resolve_claims(calls, kinds, deposited || adopted);
    end if;
    if prior.proved then
      perform ledger_record_payments(
        calls, kinds, prior.payment_claims, deposited, credited, balances, seqs);
    end if;
    perform ledger_hold(
      calls, instance, lease, kinds, deposited, groups, starts, balances, seqs);
  end if;

  return query
    select call.n, case kinds[call.n] when 'granted' then 'started' else kinds[call.n] end,
      balances[call.n], results[call.n],
      case kinds[call.n] when 'replay' then ledger_receipt(replays[call.n]) end,
      case kinds[call.n] when 'replay' then replays[call.n] end
    from unnest(calls) call;
end
$$;
