-- Invalidates what every instance caches of an account. The payload is the account's id in hex.
create or replace function notify_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_key', 'account:' || encode(uuid_send(new.id), 'hex'));
  return null;
end
$$;

create or replace trigger account_change
after update of
  tier, rate_per_minute, burst, account_rate_per_minute, account_burst, operator, blocked_reason,
  request_bodies, request_hours, frozen, moved_to, limits_version
on account
for each row execute function notify_account_change();
