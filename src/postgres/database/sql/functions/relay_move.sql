-- Moves a relay to its next state; false if it is not in a state before that. A transaction that never landed
-- cost nothing, so its fee returns to the budget of its day.
create or replace function relay_move(hash bytea, target text, why text)
returns boolean language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
declare
  moved relay;
begin
  select * into moved from relay
  where message_hash = hash and case state
    when 'claimed' then target = 'broadcast'
    when 'broadcast' then target in ('unknown', 'confirmed', 'failed')
    when 'unknown' then target in ('confirmed', 'failed')
    else false end
  for update;
  if not found then
    return false;
  end if;
  if target = 'failed' and why = 'never_landed' then
    update relay_budget set lamports = lamports - moved.fee_lamports
    where day = (moved.claimed_at at time zone 'utc')::date;
    moved.fee_lamports := 0;
  end if;
  update relay
  set state = target, reason = case when target = 'failed' then why end, moved_at = clock_timestamp(),
    fee_lamports = moved.fee_lamports
  where message_hash = hash;
  return true;
end
$$;
