import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

const { revenue } = SYSTEM_ACCOUNTS;

/** The functions that write what the operator's figures are counted from. */
export const OPERATIONS_WRITERS = ["operations_revenue"] as const;

/** What the operator's look at the service needs. */
export class Operations extends Migration {
  override name = "0018-operations";

  override up(): void {
    // Byte by byte, so that a beginning is a range, whatever the database's collation.
    this.addSql(/* sql */ `create index account_wallet_pattern_index on account (wallet text_pattern_ops)`);
    this.addSql(/* sql */ `create index api_key_prefix_pattern_index on api_key (prefix text_pattern_ops)`);

    // "once": what makes an action the same when it is asked for again; "repeats" is the first that was.
    this.addSql(/* sql */ `alter table operator_action add column once text, add column repeats uuid`);
    this.addSql(/* sql */ `
      create index operator_action_once_index on operator_action (target, action, id) where once is not null`);
    this.payments();
    this.revenue();
  }

  /** What did not buy what it was for is rare, and looked for among all the rest. */
  private payments(): void {
    this.addSql(/* sql */ `
      create index payment_failed_index on payment (created_at, tx_signature)
      where reversed or (not settled and starts_with(quote_id, 'qt_'))`);
    this.addSql(
      /* sql */ `create index relay_failed_index on relay (moved_at, tx_signature) where state = 'failed'`,
    );
  }

  private revenue(): void {
    // What transfers up to "counted_to" have earned, so that nobody has to add up all of them again.
    this.addSql(/* sql */ `
      create table revenue_mark (
        whole boolean primary key constraint revenue_mark_whole_check check (whole),
        counted_to bigint not null,
        amount bigint not null
      ) with (fillfactor = 50)`);
    this.addSql(/* sql */ `insert into revenue_mark (whole, counted_to, amount) values (true, 0, 0)`);
    // Adds up at most so many transfers, and moves the mark on over those that are older than any transaction which may still be open:
    // one with a smaller number could come after it. Not complete: there are more, ask again.
    this.addSql(/* sql */ `
      create function operations_revenue(most integer) returns table (amount bigint, complete boolean)
      language plpgsql rows 1
      set enable_seqscan = off as $$
      #variable_conflict use_column
      declare
        mark revenue_mark;
        old_to bigint;
        looked bigint;
        last_looked bigint;
        earned bigint;
        earned_old bigint;
      begin
        select * into mark from revenue_mark for update;
        select count(*), max(id), max(id) filter (where created_at < now() - interval '1 minute') into looked, last_looked, old_to
        from (select id, created_at from transfer where id > mark.counted_to order by id limit most) next_ones;
        select coalesce(sum(gain), 0), coalesce(sum(gain) filter (where id <= old_to), 0) into earned, earned_old
        from (
          select id, case when credit = '${revenue}' then transfer.amount when debit = '${revenue}' then -transfer.amount else 0 end as gain
          from transfer where id > mark.counted_to and id <= last_looked
        ) gains;
        if old_to is not null then
          update revenue_mark set counted_to = old_to, amount = mark.amount + earned_old;
        end if;
        return query select mark.amount + earned, looked < most;
      end $$`);

    // As in 0012: with their owner's rights, and only for those who were given them.
    for (const name of OPERATIONS_WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
    }
  }
}
