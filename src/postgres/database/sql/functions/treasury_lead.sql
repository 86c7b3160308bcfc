-- Acquires or renews the leader lease of the treasury's jobs. A lease ends after its length at the latest,
-- also when the clock was set back since it was given.
create or replace function treasury_lead(instance uuid, lease interval)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update leadership set until = now() + lease where name = 'treasury' and until > now() + lease;
  insert into leadership as held (name, owner, until) values ('treasury', instance, now() + lease)
  on conflict (name) do update set owner = excluded.owner, until = excluded.until
  where held.owner = excluded.owner or held.until < now();
  return found;
end
$$;
