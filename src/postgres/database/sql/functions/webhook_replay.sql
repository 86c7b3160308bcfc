-- Makes an endpoint receive an event again, or all events of its types since a time, in their order. Returns
-- their number; null without such an endpoint. An event keeps its id.
create or replace function webhook_replay(account uuid, endpoint uuid, only_event uuid, since timestamptz)
returns bigint language plpgsql security definer set search_path = public, pg_temp as $$
declare
  wanted text[];
  replayed bigint;
begin
  select types into wanted from webhook_endpoint where account_id = account and id = endpoint;
  if not found then
    return null;
  end if;
  insert into webhook_delivery (endpoint_id, seq, event_id)
  select endpoint, event.seq, event.id from webhook_event event
  where event.account_id = account and case
    when only_event is not null then event.id = only_event
    else event.created_at >= since and event.type = any (wanted) end
  order by event.seq
  on conflict (endpoint_id, seq) do update set delivered_at = null;
  get diagnostics replayed = row_count;
  return replayed;
end
$$;
