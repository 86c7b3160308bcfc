-- Invalidates what every instance caches of an API key. The payload is the key's hash in hex.
create or replace function notify_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_key', 'key:' || encode(new.sha256, 'hex'));
  return null;
end
$$;

create or replace trigger key_change
after insert or update on api_key
for each row execute function notify_key_change();
