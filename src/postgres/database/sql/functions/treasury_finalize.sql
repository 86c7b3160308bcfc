-- Marks payments as finalized. Returns how many were not before.
create or replace function treasury_finalize(of_network text, payment_references bytea[])
returns bigint language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  finalized_now bigint;
begin
  with due as (
    select network, reference from payment
    where network = of_network and reference = any (payment_references) and not finalized and not reversed
    order by reference for update
  )
  update payment set finalized = true from due
  where payment.network = due.network and payment.reference = due.reference;
  get diagnostics finalized_now = row_count;
  return finalized_now;
end
$$;
