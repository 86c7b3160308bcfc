import { Migration } from "@mikro-orm/migrations";

/** Limits of accounts above those of their keys: a rate bucket of the account's own, and sandbox executions counted by account. */
export class AccountLimits extends Migration {
  override name = "0029-account-limits";

  override up(): void {
    // Null: ten keys' worth.
    this.addSql(/* sql */ `
      alter table account add column account_rate_per_minute integer, add column account_burst integer`);
    this.addSql(/* sql */ `drop trigger account_change on account`);
    this.addSql(/* sql */ `
      create trigger account_change
      after update of rate_per_minute, burst, account_rate_per_minute, account_burst, operator, blocked_reason on account
      for each row execute function notify_account_change()`);
    this.rateBuckets();
    this.sandboxRuns();
  }

  private rateBuckets(): void {
    // A bucket is a key's or an account's. A token is taken from both: what the account does not hold is not taken from the key either.
    this.addSql(/* sql */ `drop table rate_bucket`);
    this.addSql(/* sql */ `
      create unlogged table rate_bucket (
        bucket_id uuid primary key,
        tat bigint not null
      ) with (fillfactor = 50)`);
    this.addSql(/* sql */ `drop function rate_take`);
    this.addSql(/* sql */ `
      create function rate_take(
        keys uuid[], accounts uuid[], wanted integer[], intervals bigint[], bursts integer[],
        account_intervals bigint[], account_bursts integer[])
      returns table (key_id uuid, granted integer, tat bigint, account_tat bigint, account_refused boolean, now_us bigint)
      language plpgsql rows 10
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        at bigint;
      begin
        insert into rate_bucket (bucket_id, tat)
        select bucket, 0 from (select distinct unnest(keys || accounts) as bucket) every order by bucket on conflict do nothing;
        perform from rate_bucket where bucket_id = any (keys || accounts) order by bucket_id for update;
        at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
        return query
          with asked as (
            select ask.*, greatest(own.tat, at) as full_at, greatest(shared.tat, at) as account_full_at,
                   least(ask.wanted, greatest(0, (at + ask.burst * ask.period - greatest(own.tat, at)) / ask.period)) as key_holds
            from unnest(keys, accounts, wanted, intervals, bursts, account_intervals, account_bursts)
                 ask (key_id, account_id, wanted, period, burst, account_period, account_burst)
            join rate_bucket own on own.bucket_id = ask.key_id
            join rate_bucket shared on shared.bucket_id = ask.account_id
          ), given as (
            select *, greatest(0, least(key_holds,
              (at + account_burst * account_period - account_full_at) / account_period
              - (sum(key_holds) over (partition by account_id order by key_id) - key_holds)))::bigint as granted
            from asked
          ), told as (
            select *, full_at + granted * period as key_tat,
                   account_full_at + (sum(granted) over (partition by account_id))::bigint * account_period as account_tat
            from given
          ), moved as (
            update rate_bucket bucket set tat = part.tat
            from (select key_id as bucket_id, key_tat as tat from told
                  union all
                  select account_id, max(account_tat) from told group by account_id) part
            where bucket.bucket_id = part.bucket_id
          )
          select told.key_id, told.granted::integer, told.key_tat, told.account_tat, told.granted < told.key_holds, at from told;
      end $$`);
    this.addSql(/* sql */ `alter function rate_take security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `alter function rate_take set plan_cache_mode = force_generic_plan`);
    this.addSql(/* sql */ `revoke execute on function rate_take from public`);
  }

  private sandboxRuns(): void {
    this.addSql(/* sql */ `drop index sandbox_run_open_index`);
    this.addSql(
      /* sql */ `create index sandbox_run_open_index on sandbox_run (account_id) where ended_at is null`,
    );
    // As in 0013, but for the count, which is the account's.
    this.addSql(/* sql */ `
      create or replace function sandbox_begin(run uuid, account uuid, key uuid, called text, most integer)
      returns table (kind text, running bigint)
      language plpgsql rows 1 security definer
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set search_path = public, pg_temp as $$
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
        where open.account_id = account and open.ended_at is null;
        if active >= most then
          return query select 'busy', active;
          return;
        end if;
        insert into sandbox_run (run_id, account_id, key_id, name, created_at) values (run, account, key, called, clock_timestamp());
        return query select 'begun', active + 1;
      end $$`);
  }
}
