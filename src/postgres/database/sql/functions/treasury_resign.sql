-- Releases the leader lease.
create or replace function treasury_resign(instance uuid)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  delete from leadership where name = 'treasury' and owner = instance;
end
$$;
