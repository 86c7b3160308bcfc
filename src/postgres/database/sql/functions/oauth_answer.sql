-- Answers a request of an application, once; its client then does not expire. False if it was answered before
-- or has expired.
create or replace function oauth_answer(interaction bytea, client bytea, result jsonb)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update oauth_record r
  set consumed_at = now(), payload = r.payload || jsonb_build_object('result', oauth_answer.result)
  where r.id = interaction and r.model = 'Interaction' and r.consumed_at is null and r.expires_at > now();
  if not found then
    return false;
  end if;
  update oauth_record r set expires_at = 'infinity' where r.id = client and r.model = 'Client';
  return true;
end
$$;
