-- Reports a new version of the configuration to every instance. The payload is its number.
create or replace function notify_config_version() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_config', new.version::text);
  return null;
end
$$;

create or replace trigger config_version_notice
after insert on config_version
for each row execute function notify_config_version();
