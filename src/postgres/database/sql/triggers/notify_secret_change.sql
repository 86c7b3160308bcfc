-- Makes every instance load its secrets again. The payload is the table's name.
create or replace function notify_secret_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_secret', tg_table_name);
  return null;
end
$$;

create or replace trigger secret_change
after insert or update or delete on sealing_key
for each row execute function notify_secret_change();

create or replace trigger secret_change
after insert or update or delete on api_key_secret
for each row execute function notify_secret_change();

create or replace trigger secret_change
after insert or update or delete on signing_key
for each row execute function notify_secret_change();
