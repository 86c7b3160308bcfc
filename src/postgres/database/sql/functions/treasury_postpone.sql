-- Moves payments to the end of the polling queue. Skips locked payments: they are being authorized.
create or replace function treasury_postpone(of_network text, payment_references bytea[])
returns void language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  with due as (
    select network, reference from payment
    where network = of_network and reference = any (payment_references)
    order by reference for update skip locked
  )
  update payment set looked_at = now() from due
  where payment.network = due.network and payment.reference = due.reference;
end
$$;
