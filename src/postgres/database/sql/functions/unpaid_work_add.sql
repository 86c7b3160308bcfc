-- Adds one unit of uncharged work to the account's bucket and returns for how long the account is refused,
-- ms; 0 if it is not. The bucket holds the work of an hour and leaks as fast; a refusal lasts about an hour
-- at most, so that the crash of a busy server does not keep its callers away for longer. Charged calls since
-- the last one drain it too, one unit for "charged_for_one" of them, at most two days' worth. Notifies every
-- instance of a refusal.
create or replace function unpaid_work_add(
  account uuid, called text, per_hour integer, charged bigint, charged_for_one integer
)
returns bigint language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  period constant interval = interval '1 hour' / per_hour;
  paid_off constant interval = least(period * charged / charged_for_one, interval '2 days');
  held bigint;
begin
  insert into unpaid_work as bucket (account_id, tool, free_at) values (account, called, now() + period)
  on conflict (account_id, tool) do update
    set free_at = least(greatest(bucket.free_at - paid_off, now()) + period, now() + interval '2 hours')
  returning greatest(0, ceil(extract(epoch from free_at - now() - interval '1 hour' + period) * 1000))
  into held;
  if held > 0 then
    perform pg_notify(
      'toolgate_unpaid_work', encode(uuid_send(account), 'hex') || ' ' || held || ' ' || called);
  end if;
  delete from unpaid_work where ctid = any (array(
    select ctid from unpaid_work where free_at < now() order by free_at limit 10 for update skip locked));
  return held;
end
$$;
