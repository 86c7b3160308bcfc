-- Marks payments as finalized. Returns how many were not before.
create or replace function treasury_finalize(signatures bytea[])
returns bigint
language plpgsql security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  finalized_now bigint;
begin
  with due as (
    select tx_signature from payment
    where tx_signature = any (signatures) and not finalized and not reversed
    order by tx_signature for update
  )
  update payment set finalized = true from due where payment.tx_signature = due.tx_signature;
  get diagnostics finalized_now = row_count;
  return finalized_now;
end
$$;

revoke execute on function treasury_finalize from public;
