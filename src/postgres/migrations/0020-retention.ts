import { Migration } from "@mikro-orm/migrations";

/** The functions that remove what is old. */
export const RETENTION_WRITERS = ["claims_forget"] as const;

/**
 * Forgets expired keys, oldest first, along the index of those that expire and then by the place of each row: a plan that no statistics
 * can turn into a scan of the table. It begins where the batch before ended: what was deleted stays in the index until the table is
 * vacuumed, and while an old snapshot is open (an audit, a backup) each look from the beginning would read all of it again. Nothing is
 * waited for, so the order of locks does not matter.
 */
export const FORGET_CLAIMS = /* sql */ `
  with gone as (
    delete from idempotency where ctid = any (array(
      select ctid from idempotency
      where expires_at >= $1 and expires_at < now() and expires_at < 'infinity' and state <> 'running'
      order by expires_at limit $2 for update skip locked))
    returning expires_at
  )
  select count(*), max(gone.expires_at) from gone`;

/** Removing what is old in batches that follow on each other. `ledger_forget` stays for instances of the version before. */
export class Retention extends Migration {
  override name = "0020-retention";

  override up(): void {
    this.addSql(/* sql */ `
      create function claims_forget(since timestamptz, most integer) returns table (forgotten bigint, up_to timestamptz)
      language sql rows 1 as $$${FORGET_CLAIMS} $$`);

    // As in 0012: with their owner's rights, and only for those who were given them.
    for (const name of RETENTION_WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
    }
  }
}
