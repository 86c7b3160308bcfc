-- Gives a key a budget, which counts all that the balance paid for it so far, and locks its account. What
-- ended before is added up before the lock: that takes seconds in a long history.
create or replace function budget_open(of_key uuid)
returns void language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  today date = (now() at time zone 'utc')::date;
  this_month date = date_trunc('month', today);
  recent constant uuid = partition_bound(now() - interval '1 hour');
  key constant api_key = (select key from api_key key where id = of_key);
  -- The first calls of the key; ids of runs have the time of the instance.
  first constant uuid = partition_bound(key.created_at - interval '1 hour');
  past record;
  since record;
begin
  select sum(charged.debited) as total,
    sum(charged.debited) filter (where run.started_at >= this_month::timestamp at time zone 'utc') as month,
    sum(charged.debited) filter (where run.started_at >= today::timestamp at time zone 'utc') as day,
    array(
      select id from run where status = 'active' and account_id = key.account_id and id < recent) as active
  into past
  from run
  cross join lateral (select debited from receipt where run_id = run.id offset 0) charged
  where run.account_id = key.account_id and run.id >= first and run.id < recent and run.key_id = of_key
    and run.paid_by || '' = 'balance';

  perform limits_lock(key.account_id);
  if today < (clock_timestamp() at time zone 'utc')::date then
    today := (clock_timestamp() at time zone 'utc')::date;
    past.day := 0;
  end if;
  if this_month < date_trunc('month', today) then
    this_month := date_trunc('month', today);
    past.month := 0;
  end if;
  select sum(amount) as total,
    sum(amount) filter (where started_at >= this_month::timestamp at time zone 'utc') as month,
    sum(amount) filter (where started_at >= today::timestamp at time zone 'utc') as day
  into since
  from (
    select run.started_at,
      case run.status || '' when 'active' then run.price when 'completed' then charged.debited end as amount
    from (
      select * from run where account_id = key.account_id and id >= recent
      union all
      select run.* from unnest(past.active) active (id)
      cross join lateral (select * from run where run.id = active.id offset 0) run
    ) run
    left join lateral (select debited from receipt where run_id = run.id offset 0) charged on true
    where run.key_id = of_key and run.paid_by || '' = 'balance'
  ) taken;

  insert into budget (id, account_id, day, month, day_spent, month_spent, total_spent)
  values (
    of_key, key.account_id, today, this_month, coalesce(past.day, 0) + coalesce(since.day, 0),
    coalesce(past.month, 0) + coalesce(since.month, 0), coalesce(past.total, 0) + coalesce(since.total, 0));
  update api_key set budget_id = of_key where id = of_key;
end
$$;
