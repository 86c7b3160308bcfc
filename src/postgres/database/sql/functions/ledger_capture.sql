-- Captures the holds of completed runs: charge, receipt and stored result. The caller has locked the runs and
-- their claims. What a run writes is one statement, each row made from the row before: reading back what was
-- just written would scan whole tables while their statistics are from before their first row.
create or replace function ledger_capture(endings ledger_ending[], results json[], completed uuid[])
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  runs constant uuid[] = array(select ending.run_id from unnest(endings) ending);
  -- Receipts are listed by their ids (UUIDv7), so these begin with the ledger's time, ms.
  issued_at constant bytea = substr(int8send(floor(extract(epoch from now()) * 1000)::bigint), 3);
  claimed boolean;
  item record;
begin
  with ended as (
    update run set ended_at = now(), status = 'completed', error_code = null, error_message = null
    where id = any (completed)
    returning id, tool, quote_id, step_id, network, reference, price, paid_by, claim_key,
      (endings[array_position(runs, run.id)]).receipt_id
  ), charged as (
    update hold set state = 'captured' from ended
    where hold.run_id = any (completed) and hold.run_id = ended.id and hold.state = 'open'
    returning hold.run_id, hold.account_id, hold.amount, ended.*, nextval('transfer_id_seq') as transfer_id
  ), transferred as (
    insert into transfer (id, debit, credit, amount, kind, ref)
    select transfer_id, account_id, revenue, amount, 'charge', uuid_send(run_id) from charged
  ), issued as (
    insert into receipt (
      id, run_id, transfer_id, account_id, tool, quote_id, step_id, network, reference, quoted, debited,
      paid_by)
    select encode(overlay(uuid_send(receipt_id) placing issued_at from 1), 'hex')::uuid,
      run_id, transfer_id, account_id, tool, quote_id, step_id, network, reference, price, amount,
      paid_by
    from charged
  )
  select bool_or(claim_key is not null) into claimed from ended;

  if claimed then
    -- One by one along the key: a plan from when there were no claims does not know how many there are.
    for item in
      select run.account_id, run.claim_key, run.id,
        results[(endings[array_position(runs, run.id)]).n] as result
      from run where run.id = any (completed) and run.claim_key is not null
    loop
      update idempotency claim set state = 'done', result = item.result
      where claim.account_id = item.account_id and claim.key = item.claim_key
        and claim.run_id = item.id and claim.state = 'running';
    end loop;
  end if;
end
$$;

revoke execute on function ledger_capture from public;
