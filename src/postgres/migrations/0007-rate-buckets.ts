import { Migration } from "@mikro-orm/migrations";

/**
 * Token buckets by the generic cell rate algorithm (ITU-T I.371): a bucket is one number, the theoretical arrival time ("tat"),
 * at which it is full again. A request moves it by one interval, and conforms while it lies at most `burst` intervals ahead.
 * Times are microseconds of the database's clock, which all instances share.
 */
export class RateBuckets extends Migration {
  override name = "0007-rate-buckets";

  override up(): void {
    this.addSql(/* sql */ `
      create function rate_take(keys uuid[], wanted integer[], intervals bigint[], bursts integer[])
      returns table (key_id uuid, granted integer, tat bigint, now_us bigint)
      language plpgsql rows 10
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        at bigint;
      begin
        insert into rate_bucket (key_id, tat) select key, 0 from unnest(keys) key order by key on conflict do nothing;
        perform from rate_bucket where key_id = any (keys) order by key_id for update;
        at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
        return query
          update rate_bucket bucket
          set tat = greatest(bucket.tat, at) + taken.granted * taken.period
          from (
            select current.key_id, ask.period,
                   least(ask.wanted, greatest(0, (at + ask.burst * ask.period - greatest(current.tat, at)) / ask.period))::integer as granted
            from unnest(keys, wanted, intervals, bursts) ask (key_id, wanted, period, burst)
            join rate_bucket current on current.key_id = ask.key_id
          ) taken
          where bucket.key_id = taken.key_id
          returning bucket.key_id, taken.granted, bucket.tat, at;
      end $$`);
  }
}
