import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";
import { RECEIPT_OF } from "./0002-receipts.ts";

/**
 * Forgets expired keys, oldest first, along the index of those that expire and then by the place of each row: a plan that no
 * statistics can turn into a scan of the table. Nothing is waited for, so the order of locks does not matter.
 */
const FORGET = /* sql */ `
  delete from idempotency where ctid = any (array(
    select ctid from idempotency
    where expires_at < now() and expires_at < 'infinity' and state <> 'running'
    order by expires_at limit $1 for update skip locked))`;

/** Gives the holds of ended runs back and opens their claims for a retry. The caller has locked the runs and their claims. */
export const LEDGER_RELEASE = /* sql */ `
  create or replace function ledger_release(runs uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  declare
    item record;
  begin
    for item in
      select run.account_id, run.claim_key, run.id from run where run.id = any (runs) and run.claim_key is not null
    loop
      update idempotency claim set state = 'retryable'
      where claim.account_id = item.account_id and claim.key = item.claim_key and claim.run_id = item.id and claim.state = 'running';
    end loop;

    perform from account where id = any (array(select hold.account_id from hold where hold.run_id = any (runs))) order by id for update;

    -- What the keys' limits have counted goes back to the day that it was counted on.
    if exists (select from run where id = any (runs) and budget_id is not null) then
      for item in
        select run.budget_id, (run.started_at at time zone 'utc')::date as day, sum(hold.amount) as amount
        from run join hold on hold.run_id = run.id and hold.state = 'open'
        where run.id = any (runs) and hold.run_id = any (runs) and run.budget_id is not null
        group by 1, 2 order by 1, 2
      loop
        update key_budget budget set spent = budget.spent - item.amount
        where budget.budget_id = item.budget_id and budget.day = item.day;
      end loop;
    end if;

    with released as (
      update hold set state = 'released' where run_id = any (runs) and state = 'open' returning account_id, amount
    ), total as (
      select account_id, sum(amount) as amount from released group by account_id
    )
    update account set available = available + total.amount from total
    where account.id = any (array(select hold.account_id from hold where hold.run_id = any (runs))) and account.id = total.account_id;
  end $$`;

/** Locks the claims of runs, which are locked already: along the order of the claims' keys, and along their index, whatever is known of how many there are. */
export const LEDGER_LOCK_CLAIMS = /* sql */ `
  create or replace function ledger_lock_claims(runs uuid[]) returns void
  language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  begin
    perform from (
      select ended.account_id, ended.claim_key
      from (select account_id, claim_key from run where id = any (runs) and claim_key is not null offset 0) ended
      order by ended.account_id, ended.claim_key
    ) mine
    cross join lateral (
      select from idempotency claim where claim.account_id = mine.account_id and claim.key = mine.claim_key for update
    ) locked;
  end $$`;

/**
 * The fence: only an active run of this very instance ends. Sent again after a lost answer, it tells what it did the first time;
 * the sweep takes the owner away, so that a swept run is lost to the instance that had it.
 *
 * What a completed run writes is one statement, each row of it made of the row before: nothing that was just written is looked up
 * again, which a database whose statistics are from before its first charge would do by reading all of them.
 */
export const LEDGER_FINISH = /* sql */ `
  create or replace function ledger_finish(endings ledger_ending[], results json[], instance uuid)
  returns table (n integer, kind text, receipt issued_receipt)
  language plpgsql rows 10
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  #variable_conflict use_column
  declare
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
      select transfer_id, account_id, '${SYSTEM_ACCOUNTS.revenue}', amount, 'charge', uuid_send(run_id) from charged
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

      -- One by one along the key: how many claims there are by now is not known to a plan that was made when there were none.
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
        case when run.owner = instance and ending.outcome = 'completed' then ${RECEIPT_OF("run.id")} end
      from unnest(endings) ending
      left join lateral (select id, status, owner from run where id = ending.run_id offset 0) run on true;
  end $$`;

/**
 * Extends the leases of an instance's runs. In order, and past what is being finished: a heartbeat never waits. The status is told
 * by an expression, so that no plan takes an index of it.
 */
export const LEDGER_BEAT = /* sql */ `
  create or replace function ledger_beat(runs uuid[], instance uuid, lease interval) returns void
  language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  begin
    update run set lease_until = now() + lease
    where id = any (array(
      select id from run where id = any (runs) and owner = instance and status || '' = 'active' order by id for update skip locked));
  end $$`;

/** Ending runs: capture with receipt and stored result, or release; by the owner, or by the sweep once the owner's lease has expired. */
export class Finish extends Migration {
  override name = "0005-finish";

  override up(): void {
    this.addSql(/* sql */ `
      create type ledger_ending as (
        n integer,
        run_id uuid,
        outcome text,
        receipt_id uuid,
        error_code text,
        error_message text
      )`);

    this.addSql(LEDGER_LOCK_CLAIMS);

    this.addSql(LEDGER_RELEASE);

    this.addSql(LEDGER_FINISH);

    // Releases runs whose lease has expired. What another sweep or a late finish has locked is left to it.
    this.addSql(/* sql */ `
      create function ledger_sweep(most integer) returns bigint
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      declare
        expired uuid[];
      begin
        with due as (
          select id from run where status = 'active' and lease_until < now() order by lease_until limit most for update skip locked
        ), changed as (
          update run set status = 'failed', owner = null, ended_at = now(), error_code = 'UNAVAILABLE',
            error_message = 'the instance that ran this call died or stalled; nothing was charged'
          from due where run.id = due.id
          returning run.id
        )
        select array_agg(id) into expired from changed;
        if expired is null then
          return 0;
        end if;
        perform ledger_lock_claims(expired);
        perform ledger_release(expired);
        return cardinality(expired);
      end $$`);

    this.addSql(/* sql */ `
      create function ledger_forget(most integer) returns bigint
      language plpgsql as $$
      declare
        forgotten bigint;
      begin
        ${FORGET};
        get diagnostics forgotten = row_count;
        return forgotten;
      end $$`);

    this.addSql(LEDGER_BEAT);
  }
}
