-- Takes tokens by the generic cell rate algorithm (ITU-T I.371). A bucket is one number, the theoretical
-- arrival time ("tat") at which it is full again. A request moves it by one interval and conforms while it
-- lies at most "burst" intervals ahead. Times are microseconds. A token is taken from the key's and the
-- account's bucket, or from neither. A loop over arrays: to start one statement with joins costs more.
create or replace function rate_take(
  keys uuid[], accounts uuid[], wanted integer[], intervals bigint[], bursts integer[],
  account_intervals bigint[], account_bursts integer[]
)
returns table (
  key_id uuid, granted integer, tat bigint, account_tat bigint, account_refused boolean, now_us bigint
)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  wanted_buckets constant uuid[] = keys || accounts;
  buckets uuid[];
  tats bigint[];
  own integer;     -- positions of the key's and the account's bucket
  shared integer;
  tokens bigint;
begin
  loop
    select array_agg(bucket_id), array_agg(tat) into buckets, tats
    from (
      select * from rate_bucket where bucket_id = any (wanted_buckets) order by bucket_id for update
    ) locked;
    exit when wanted_buckets <@ buckets;
    insert into rate_bucket (bucket_id, tat)
    select distinct bucket, 0 from unnest(wanted_buckets) bucket order by bucket
    on conflict do nothing;
  end loop;

  now_us := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  for n in 1 .. cardinality(keys) loop
    own := array_position(buckets, keys[n]);
    shared := array_position(buckets, accounts[n]);
    key_id := keys[n];
    -- Further ahead than an empty bucket: the clock was set back, or the burst lowered.
    tat := least(greatest(tats[own], now_us), now_us + bursts[n] * intervals[n]);
    account_tat := least(greatest(tats[shared], now_us), now_us + account_bursts[n] * account_intervals[n]);
    tokens := least(wanted[n], greatest(0, (now_us + bursts[n] * intervals[n] - tat) / intervals[n]));
    granted := least(
      tokens,
      greatest(0, (now_us + account_bursts[n] * account_intervals[n] - account_tat) / account_intervals[n]));
    account_refused := granted < tokens;
    tat := tat + granted * intervals[n];
    account_tat := account_tat + granted * account_intervals[n];
    tats[own] := tat;
    tats[shared] := account_tat;
    return next;
  end loop;
  update rate_bucket set tat = tats[array_position(buckets, bucket_id)] where bucket_id = any (buckets);
end
$$;
