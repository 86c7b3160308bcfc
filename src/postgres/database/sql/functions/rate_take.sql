-- Takes tokens by the generic cell rate algorithm (ITU-T I.371). A bucket is one number, the theoretical
-- arrival time ("tat") at which it is full again. A request moves it by one interval and conforms while it
-- lies at most "burst" intervals ahead. Times are microseconds. A token is taken from the key's and the
-- account's bucket, or from neither.
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
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  at bigint;
begin
  insert into rate_bucket (bucket_id, tat)
  select bucket, 0 from (select distinct unnest(keys || accounts) as bucket) every
  order by bucket
  on conflict do nothing;
  perform from rate_bucket where bucket_id = any (keys || accounts) order by bucket_id for update;
  at := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  return query
    with asked as (
      select ask.*, greatest(own.tat, at) as full_at, greatest(shared.tat, at) as account_full_at,
             least(
               ask.wanted, greatest(0, (at + ask.burst * ask.period - greatest(own.tat, at)) / ask.period)
             ) as key_holds
      from unnest(keys, accounts, wanted, intervals, bursts, account_intervals, account_bursts)
           ask (key_id, account_id, wanted, period, burst, account_period, account_burst)
      join rate_bucket own on own.bucket_id = ask.key_id
      join rate_bucket shared on shared.bucket_id = ask.account_id
    ), given as (
      select *, greatest(0, least(key_holds,
        (at + account_burst * account_period - account_full_at) / account_period
        - (sum(key_holds) over (partition by account_id order by key_id) - key_holds)))::bigint as granted
      from asked
    ), answer as (
      select *, full_at + granted * period as key_tat,
             account_full_at
               + (sum(granted) over (partition by account_id))::bigint * account_period as account_tat
      from given
    ), moved as (
      update rate_bucket bucket set tat = part.tat
      from (select key_id as bucket_id, key_tat as tat from answer
            union all
            select account_id, max(account_tat) from answer group by account_id) part
      where bucket.bucket_id = part.bucket_id
    )
    select answer.key_id, answer.granted::integer, answer.key_tat, answer.account_tat,
      answer.granted < answer.key_holds, at
    from answer;
end
$$;

revoke execute on function rate_take from public;
