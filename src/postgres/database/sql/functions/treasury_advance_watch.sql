-- Records how far the treasury's statement was read; "whole": no gap is left before that slot.
create or replace function treasury_advance_watch(token bytea, to_slot bigint, whole boolean)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update treasury_watch
  set slot = greatest(slot, to_slot), looked_at = case when whole then now() else looked_at end
  where token_account = token;
end
$$;
