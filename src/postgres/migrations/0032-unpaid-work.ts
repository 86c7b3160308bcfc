import { Migration } from "@mikro-orm/migrations";

/** The functions that count work that was not charged. */
export const UNPAID_WORK_WRITERS = ["unpaid_work_add"] as const;

/**
 * A leaky bucket for each account and tool: "free_at" is when it is empty again. It holds the work of an hour and leaks as fast. Charged calls
 * since the last count empty it too, one for "charged_for_one" of them; more than a day's worth is not remembered.
 */
export class UnpaidWork extends Migration {
  override name = "0032-unpaid-work";

  override up(): void {
    this.addSql(/* sql */ `
      create table unpaid_work (
        account_id uuid not null,
        tool text not null,
        free_at timestamptz not null,
        primary key (account_id, tool)
      ) with (fillfactor = 70)`);
    this.addSql(/* sql */ `create index unpaid_work_free_at_index on unpaid_work (free_at)`);

    // Returns for how long the account is refused, 0: it is not. Every instance hears of it at once.
    this.addSql(/* sql */ `
      create function unpaid_work_add(
        account uuid, called text, per_hour integer, charged bigint, charged_for_one integer) returns bigint
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      declare
        period constant interval = interval '1 hour' / per_hour;
        paid_off constant interval = least(period * charged / charged_for_one, interval '2 days');
        held bigint;
      begin
        insert into unpaid_work as bucket (account_id, tool, free_at) values (account, called, now() + period)
        on conflict (account_id, tool) do update
          set free_at = least(greatest(bucket.free_at - paid_off, now()) + period, now() + interval '1 day')
        returning greatest(0, ceil(extract(epoch from free_at - now() - interval '1 hour' + period) * 1000)) into held;
        if held > 0 then
          perform pg_notify('toolgate_unpaid_work', encode(uuid_send(account), 'hex') || ' ' || held || ' ' || called);
        end if;
        delete from unpaid_work where ctid = any (array(
          select ctid from unpaid_work where free_at < now() order by free_at limit 10 for update skip locked));
        return held;
      end $$`);

    // As in 0012: with their owner's rights, and only for those who were given them.
    for (const name of UNPAID_WORK_WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
    }
  }
}
