-- Writes an event of an account for its endpoints that want its type; nothing when there are none. Belongs to
-- the transaction of its cause and locks no row: the order of an account's events is that of the locks which
-- the cause holds. "once" identifies an event that is written again without effect. Data is an object with
-- names of the API; what identifies a payment is its "network" and "reference" in hex (webhook-payload.ts).
create or replace function event_add(account uuid, event_type text, data jsonb, once text DEFAULT NULL::text)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_column
declare
  endpoints constant uuid[] = array(
    select id from webhook_endpoint
    where account_id = account and disabled is null and event_type = any (types));
begin
  if endpoints = '{}' then
    return;
  end if;
  with added as (
    insert into webhook_event (account_id, type, data, once)
    values (account, event_type, event_add.data, event_add.once)
    on conflict do nothing
    returning id, seq
  )
  insert into webhook_delivery (endpoint_id, seq, event_id)
  select endpoint, seq, added.id from added, unnest(endpoints) endpoint;
end
$$;
