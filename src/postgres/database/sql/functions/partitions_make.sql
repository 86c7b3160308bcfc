-- Makes one missing partition of this month or the next, and returns its name; null if there is none. Rows of
-- that month in the default partition move to it. Waits briefly: calls wait behind it for the default
-- partition.
create or replace function partitions_make()
returns text language plpgsql security definer set search_path = public, pg_temp
set timezone = 'UTC' set lock_timeout = '500ms' as $$
declare
  missing record;
begin
  perform pg_advisory_xact_lock(hashtextextended('partitions', 0));
  select parent, name, low, high into missing
  from (values ('run'), ('receipt')) partitioned (parent)
  cross join (
    select month, month + interval '1 month' as over
    from generate_series(date_trunc('month', now()), now() + interval '1 month', interval '1 month') month
  ) months
  cross join lateral (
    select parent || to_char(month, '_YYYY_MM'), partition_bound(month), partition_bound(over)
  ) partition (name, low, high)
  -- Not to_regclass(), which does not see what another transaction made since this connection first looked.
  where not exists (select from pg_class where relname = name and relnamespace = 'public'::regnamespace)
  order by month, parent limit 1;
  if missing.name is not null then
    perform partition_attach(missing.parent, missing.name, missing.low, missing.high);
  end if;
  return missing.name;
end
$$;
