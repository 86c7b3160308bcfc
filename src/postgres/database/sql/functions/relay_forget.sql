-- Deletes finished relays after 30 days, at most "most".
create or replace function relay_forget(most integer)
returns bigint language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  deleted bigint;
begin
  delete from relay where message_hash in (
    select old.message_hash from relay old
    where old.state in ('confirmed', 'failed') and old.claimed_at < now() - interval '30 days'
    order by old.claimed_at limit most for update skip locked);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
