-- Captures the holds of active runs of this very instance, each up to its amount (null: all of it): receipt
-- and stored result. Returns the captured runs, their receipts (null for free calls), who paid, and whether
-- that payment was reversed; other runs are left as they are. What a run writes is one statement, each row
-- made from the row before: reading back what was just written would scan whole tables while their statistics
-- are from before their first row. The status is compared as an expression, so that no plan uses an index of
-- it; without bitmaps, runs are locked in the order of their keys. Between the lowest and the highest key,
-- only the partitions of these runs are read.
create or replace function ledger_capture(
  runs uuid[], receipts uuid[], amounts bigint[], results text[], instance uuid,
  out captured uuid[], out issued uuid[], out issued_at timestamptz, out sources text[],
  out reversals boolean[]
)
language plpgsql security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  time_bytes constant bytea = ledger_time();
  rest bigint;
  ids constant uuid[] = array(select id from unnest(runs) id order by id);
  low constant uuid = ids[1];
  high constant uuid = ids[cardinality(ids)];
begin
  issued_at := now();
  with ended as (
    update run set ended_at = now(), status = 'completed'
    where id = any (runs) and id between low and high and status || '' = 'active' and owner = instance
    returning id, account_id, tool, quote_id, step_id, network, reference, price, paid_by,
      coalesce(amounts[array_position(runs, id)], price) as amount,
      encode(overlay(uuid_send(receipts[array_position(runs, id)]) placing time_bytes from 1), 'hex')::uuid
        as receipt_id
  ), charged as (
    insert into receipt (
      id, run_id, account_id, tool, quote_id, step_id, network, reference, quoted, debited, paid_by)
    select receipt_id, id, account_id, tool, quote_id, step_id, network, reference, price, amount, paid_by
    from ended where price > 0
  )
  select array_agg(id), array_agg(case when price > 0 then receipt_id end), array_agg(paid_by::text),
    array_agg(reference is not null and (
      select reversed from payment where network = ended.network and reference = ended.reference)),
    sum(price - amount)
  into captured, issued, sources, reversals, rest from ended;

  if array_remove(results, null) <> '{}' then
    -- Locked in the order of the claims' keys and along their index, whatever the statistics say.
    update idempotency set state = 'done', result = results[array_position(runs, run_id)]::json
    where ctid = any (array(
      select claim.ctid
      from (
        select account_id, claim_key, id
        from unnest(captured) run_id
        cross join lateral (
          select account_id, claim_key, id from run
          where id = run_id and id between low and high and claim_key is not null offset 0
        ) run
        order by account_id, claim_key
      ) ended
      cross join lateral (
        select ctid from idempotency
        where account_id = ended.account_id and key = ended.claim_key and run_id = ended.id
          and state = 'running'
        for update
      ) claim));
  end if;
  if rest > 0 then
    perform ledger_return(captured);
  end if;
end
$$;
