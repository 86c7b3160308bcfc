-- Seconds until the claim that exceeds an hourly limit is an hour old.
create or replace function relay_wait(
  earliest timestamptz, at timestamptz
)
returns integer language sql immutable as $$
select greatest(1, coalesce(ceil(extract(epoch from earliest + interval '1 hour' - at)), 3600))::integer
$$;
