-- Ends runs: captures the holds of completed calls and releases those of others. Only an active run of this
-- very instance ends. Sent again after a lost response it returns the same; the sweep clears the owner, so
-- that a swept run is lost to the instance that had it.
create or replace function ledger_end(endings ledger_ending[], results text[], instance uuid)
returns table (n integer, kind text, receipt issued_receipt)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  runs constant uuid[] = array(select ending.run_id from unnest(endings) ending);
  mine uuid[];            -- runs that end now
  claimed boolean;        -- whether any of them has a claim
  failed uuid[];
begin
  perform from run where id = any (runs) order by id for update;
  select array_agg(run.id) filter (where run.status = 'active' and run.owner = instance),
    bool_or(claim_key is not null)
  into mine, claimed
  from run where run.id = any (runs);

  if mine is not null then
    -- Claims of captured and released calls at once: one kind after the other they would not be in order.
    if claimed then
      perform ledger_lock_claims(mine);
    end if;
    failed := array(
      select ending.run_id from unnest(endings) ending
      where ending.run_id = any (mine) and ending.outcome <> 'completed');
    -- Accounts too, of what is released and of what is captured in part.
    perform from account where id = any (array(
      select run.account_id from unnest(endings) ending
      cross join lateral (select account_id from run where id = ending.run_id offset 0) run
      where ending.outcome <> 'completed' or ending.captured is not null))
    order by id for update;
    perform ledger_capture(
      array_agg(run_id), array_agg(receipt_id), array_agg(captured), array_agg(results[n]), instance)
    from unnest(endings) where outcome = 'completed';
    if failed <> '{}' then
      update run set ended_at = now(), (status, error_code, error_message) = (
        select ending.outcome, ending.error_code, ending.error_message
        from (select (endings[array_position(runs, run.id)]).*) ending)
      where id = any (failed);
      perform ledger_release(failed);
    end if;
  end if;

  return query
    select ending.n,
      case when run.owner = instance and run.status = ending.outcome
        then case run.status when 'completed' then 'captured' else 'released' end
        else 'lost' end,
      -- As ledger_receipt, whose call for each run would cost a tenth of this function.
      case when run.owner = instance and ending.outcome = 'completed' then (
        select row(
          coalesce(refund.amount, 0),
          case
            when payment.reversed then 'reversed'
            when refund.amount is not null then 'refunded'
            else 'final' end,
          receipt.*)::issued_receipt
        from (select * from receipt where run_id = run.id offset 0) receipt
        left join lateral (
          select amount from transfer
          where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0
        ) refund on true
        left join lateral (
          select reversed from payment
    where network = receipt.network and reference = receipt.reference offset 0
        ) payment on true
      ) end
    from unnest(endings) ending
    left join lateral (select id, status, owner from run where id = ending.run_id offset 0) run on true;
end
$$;
