-- Moves payments to the end of the polling queue. Skips those that are locked: they are being authorized.
create or replace function treasury_postpone(signatures bytea[])
returns void
language plpgsql security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  with due as (
    select tx_signature from payment
    where tx_signature = any (signatures)
    order by tx_signature for update skip locked
  )
  update payment set looked_at = now() from due where payment.tx_signature = due.tx_signature;
end
$$;

revoke execute on function treasury_postpone from public;
