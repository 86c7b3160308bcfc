-- Invalidates what every instance caches of all accounts: any of them may have the tier.
create or replace function notify_tier_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_key', 'tier:' || new.name);
  return null;
end
$$;

create or replace trigger tier_change
after update on rate_tier
for each row when (old is distinct from new) execute function notify_tier_change();
