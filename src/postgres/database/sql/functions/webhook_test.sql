-- Adds a test event for one enabled endpoint, whatever its types, and returns the event's id; null without
-- such an endpoint.
create or replace function webhook_test(account uuid, endpoint uuid)
returns uuid
language plpgsql security definer
set search_path = public, pg_temp
as $$
declare
  added record;
begin
  if not exists (
    select from webhook_endpoint where account_id = account and id = endpoint and disabled is null
  ) then
    return null;
  end if;
  insert into webhook_event (account_id, type, data)
  values (account, 'webhook.test',
    jsonb_build_object('endpoint_id', 'we_' || encode(uuid_send(endpoint), 'hex')))
  returning id, seq into added;
  insert into webhook_delivery (endpoint_id, seq, event_id) values (endpoint, added.seq, added.id);
  return added.id;
end
$$;

revoke execute on function webhook_test from public;
