-- Fails a claim that was never sent, and returns its fee to the budget of its day.
create or replace function relay_reject(hash bytea, why text)
returns boolean language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
declare
  rejected relay;
begin
  select * into rejected from relay where message_hash = hash and state = 'claimed' for update;
  if not found then
    return false;
  end if;
  update relay_budget set lamports = lamports - rejected.fee_lamports
  where day = (rejected.claimed_at at time zone 'utc')::date;
  update relay set state = 'failed', reason = why, moved_at = clock_timestamp(), fee_lamports = 0
  where message_hash = hash;
  return true;
end
$$;
