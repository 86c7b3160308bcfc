-- Adds a test event for one enabled endpoint, whatever its types, and returns the event's id; null without
-- such an endpoint. For an endpoint that is not verified it is the challenge: one waits at a time, and is due
-- at once.
create or replace function webhook_test(account uuid, endpoint uuid)
returns uuid language plpgsql security definer set search_path = public, pg_temp as $$
declare
  is_verified boolean;
  challenge uuid;
  added record;
begin
  select verified into is_verified
  from webhook_endpoint where account_id = account and id = endpoint and disabled is null;
  if not found then
    return null;
  end if;
  if not is_verified then
    update webhook_endpoint set retry_at = now() where id = endpoint;
    select event.id into challenge
    from webhook_delivery delivery join webhook_event event on event.id = delivery.event_id
    where delivery.endpoint_id = endpoint and delivery.delivered_at is null and event.type = 'webhook.test'
    order by delivery.seq limit 1;
    if found then
      return challenge;
    end if;
  end if;
  insert into webhook_event (account_id, type, data)
  values (account, 'webhook.test',
    jsonb_build_object('endpoint_id', 'we_' || encode(uuid_send(endpoint), 'hex')))
  returning id, seq into added;
  insert into webhook_delivery (endpoint_id, seq, event_id) values (endpoint, added.seq, added.id);
  return added.id;
end
$$;
