import { Migration } from "@mikro-orm/migrations";

/** The functions that write what executions of code write. */
export const SANDBOX_WRITERS = ["sandbox_begin", "sandbox_end", "sandbox_cancel", "sandbox_forget"] as const;

/**
 * Executions of code, which one may wish to end from another instance than the one that they run on. An execution is active until its
 * end is recorded, or its run in the ledger is over: the lease of that run is its own.
 */
export class Sandbox extends Migration {
  override name = "0013-sandbox";

  override up(): void {
    // "run_id" is a run of the ledger; no foreign key, as in 0001. "name" is the caller's own. "status" is how it ended, the caller's wish for its end included: what came first counts.
    this.addSql(/* sql */ `
      create table sandbox_run (
        run_id uuid primary key,
        account_id uuid not null,
        key_id uuid not null,
        name text,
        cancel_requested_at timestamptz,
        status text constraint sandbox_run_status_check check (
          status in ('succeeded', 'failed', 'timeout', 'cancelled', 'memory_limit', 'cpu_limit', 'output_limit')),
        created_at timestamptz not null,
        ended_at timestamptz,
        constraint sandbox_run_ended_check check ((status is null) = (ended_at is null))
      ) with (fillfactor = 70)`);
    this.addSql(
      /* sql */ `create index sandbox_run_open_index on sandbox_run (key_id) where ended_at is null`,
    );
    this.addSql(
      /* sql */ `create index sandbox_run_name_index on sandbox_run (account_id, name, created_at) where name is not null`,
    );
    this.addSql(/* sql */ `create index sandbox_run_created_at_index on sandbox_run (created_at)`);

    // "begun"; or "named": the name belongs to one that is active; or "busy": the key has "running", as many as it may. Beginnings of
    // one account wait for each other, so that each counts all before it. Sent again after a lost answer it tells the same.
    this.addSql(/* sql */ `
      create function sandbox_begin(run uuid, account uuid, key uuid, called text, most integer)
      returns table (kind text, running bigint)
      language plpgsql rows 1
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        active bigint;
      begin
        perform pg_advisory_xact_lock(hashtextextended('sandbox ' || account, 0));
        if exists (select from sandbox_run where run_id = run) then
          return query select 'begun', 0::bigint;
          return;
        end if;
        if exists (
          select from sandbox_run named join run ledger on ledger.id = named.run_id and ledger.status = 'active'
          where named.account_id = account and named.name = called and named.ended_at is null
        ) then
          return query select 'named', 0::bigint;
          return;
        end if;
        select count(*) into active
        from sandbox_run open join run ledger on ledger.id = open.run_id and ledger.status = 'active'
        where open.key_id = key and open.ended_at is null;
        if active >= most then
          return query select 'busy', active;
          return;
        end if;
        -- Not now(): that is when this began to wait, and the newest of a name is the one that was let in last.
        insert into sandbox_run (run_id, account_id, key_id, name, created_at) values (run, account, key, called, clock_timestamp());
        return query select 'begun', active + 1;
      end $$`);

    // Tells how it ended: by a cancel that came before this, or as its instance says. The first word stands.
    this.addSql(/* sql */ `
      create function sandbox_end(run uuid, outcome text) returns text
      language plpgsql
      set enable_seqscan = off as $$
      begin
        update sandbox_run
        set status = case when cancel_requested_at is null then outcome else 'cancelled' end, ended_at = now()
        where run_id = run and ended_at is null;
        return (select status from sandbox_run where run_id = run);
      end $$`);

    // Whether it was active, and so is, or was already, to be ended. Its instance hears of it at once.
    this.addSql(/* sql */ `
      create function sandbox_cancel(run uuid) returns boolean
      language plpgsql
      set enable_seqscan = off as $$
      begin
        update sandbox_run set cancel_requested_at = coalesce(cancel_requested_at, now())
        where run_id = run and ended_at is null and exists (select from run where id = sandbox_run.run_id and status = 'active');
        if not found then
          return false;
        end if;
        perform pg_notify('toolgate_sandbox', encode(uuid_send(run), 'hex'));
        return true;
      end $$`);

    this.addSql(/* sql */ `
      create function sandbox_forget(most integer) returns bigint
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      declare
        forgotten bigint;
      begin
        delete from sandbox_run where run_id in (
          select old.run_id from sandbox_run old join run ledger on ledger.id = old.run_id and ledger.status <> 'active'
          where old.created_at < now() - interval '48 hours'
          order by old.created_at limit most for update of old skip locked);
        get diagnostics forgotten = row_count;
        return forgotten;
      end $$`);

    // As in 0012: with their owner's rights, and only for those who were given them.
    for (const name of SANDBOX_WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
    }
  }
}
