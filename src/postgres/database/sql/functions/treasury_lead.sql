-- Acquires or renews the leader lease of the treasury's jobs.
create or replace function treasury_lead(instance uuid, lease interval)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into leadership as held (name, owner, until) values ('treasury', instance, now() + lease)
  on conflict (name) do update set owner = excluded.owner, until = excluded.until
  where held.owner = excluded.owner or held.until < now();
  return found;
end
$$;
