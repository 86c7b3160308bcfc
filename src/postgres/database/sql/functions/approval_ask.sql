-- Stores the request of an application's call that exceeds a limit, for some minutes. Returns its content, or
-- that of an open request of the same call at the same or a higher price; null when the key has too many.
create or replace function approval_ask(of_key uuid, of_id bytea, request jsonb)
returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
  known jsonb;
begin
  perform pg_advisory_xact_lock(hashtextextended('approvals ' || of_key, 0));
  select payload into known from oauth_record
  where key_id = of_key and model = 'Approval' and expires_at > now()
    and payload ->> 'fingerprint' = request ->> 'fingerprint'
    and (payload ->> 'price')::bigint >= (request ->> 'price')::bigint
  limit 1;
  if found then
    return known;
  end if;
  if 5 <= (
    select count(*) from oauth_record where key_id = of_key and model = 'Approval' and expires_at > now())
  then
    return null;
  end if;
  insert into oauth_record (id, model, key_id, payload, expires_at)
  values (of_id, 'Approval', of_key, request, now() + interval '15 minutes');
  return request;
end
$$;
