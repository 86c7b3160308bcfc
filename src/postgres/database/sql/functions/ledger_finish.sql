create or replace function ledger_finish(endings ledger_ending[], results json[], instance uuid)
returns table (n integer, kind text, receipt issued_receipt)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  asked constant uuid[] = array(select ending.run_id from unnest(endings) ending);
  -- Receipts are listed by their identifiers, which begin with when they are made, ms.
  made constant bytea = substr(int8send(floor(extract(epoch from now()) * 1000)::bigint), 3);
  mine uuid[];            -- those that end now
  ended uuid[];
  captured uuid[];
  claimed uuid[];
  answered uuid[];        -- those of the claimed that are captured
  item record;
begin
  perform from run where id = any (asked) order by id for update;
  select array_agg(run.id) filter (where run.status = 'active' and run.owner = instance) into mine from run where run.id = any (asked);

  with changed as (
    update run set ended_at = now(), (status, error_code, error_message) = (
      select ending.outcome, ending.error_code, ending.error_message from (select (endings[array_position(asked, run.id)]).*) ending)
    where id = any (mine)
    returning id, status, tool, quote_id, step_id, tx_signature, price, paid_by, claim_key, (endings[array_position(asked, run.id)]).receipt_id
  ), charged as (
    update hold set state = 'captured' from changed
    where hold.run_id = any (mine) and hold.run_id = changed.id and changed.status = 'completed' and hold.state = 'open'
    returning hold.run_id, hold.account_id, hold.amount, changed.*, nextval('transfer_id_seq') as transfer_id
  ), booked as (
    insert into transfer (id, debit, credit, amount, kind, ref)
    select transfer_id, account_id, revenue, amount, 'charge', uuid_send(run_id) from charged
  ), issued as (
    insert into receipt (id, run_id, transfer_id, account_id, tool, quote_id, step_id, tx_signature, quoted, debited, paid_by)
    select encode(overlay(uuid_send(receipt_id) placing made from 1), 'hex')::uuid, run_id, transfer_id, account_id, tool, quote_id, step_id, tx_signature, price, amount, paid_by from charged
  )
  select array_agg(id) filter (where status <> 'completed'), array_agg(id) filter (where status = 'completed'),
         array_agg(id) filter (where claim_key is not null),
         array_agg(id) filter (where claim_key is not null and status = 'completed')
  into ended, captured, claimed, answered from changed;

  if claimed is not null then
    -- All at once, whether done or to be retried: locked one kind after the other they would not be in order.
    perform ledger_lock_claims(claimed);

    -- One by one along the key: how many claims there are by now is not known to a plan that was made when
    -- there were none.
    for item in
      select run.account_id, run.claim_key, run.id, results[(endings[array_position(asked, run.id)]).n] as result
      from run where run.id = any (answered)
    loop
      update idempotency claim set state = 'done', result = item.result
      where claim.account_id = item.account_id and claim.key = item.claim_key and claim.run_id = item.id and claim.state = 'running';
    end loop;
  end if;

  if ended is not null then
    perform ledger_release(ended);
  end if;

  return query
    select ending.n,
      case when run.owner = instance and run.status = ending.outcome
        then case run.status when 'completed' then 'captured' else 'released' end
        else 'lost' end,
      case when run.owner = instance and ending.outcome = 'completed' then (
select row(
  receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id, receipt.tx_signature,
  receipt.quoted, receipt.debited, coalesce(refund.amount, 0), receipt.paid_by,
  case when payment.reversed then 'reversed' when refund.amount is not null then 'refunded' else 'final' end,
  receipt.created_at)::issued_receipt
from (select * from receipt where run_id = run.id offset 0) receipt
left join lateral (select amount from transfer where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0) refund on true
left join lateral (select reversed from payment where tx_signature = receipt.tx_signature offset 0) payment on true) end
    from unnest(endings) ending
    left join lateral (select id, status, owner from run where id = ending.run_id offset 0) run on true;
end
$$;

revoke execute on function ledger_finish from public;
