-- Seconds until the next day in UTC.
create or replace function relay_wait_day(today date, at timestamptz)
returns integer language sql immutable as $$
select ceil(extract(epoch from (today + 1)::timestamp at time zone 'utc' - at))::integer
$$;
