-- The payment of a transfer's "ref" (payment_ref).
create or replace function payment_of(ref bytea)
returns payment_key language sql immutable parallel safe as $$
select row(
  convert_from(substr(ref, 1, position('\x00'::bytea in ref) - 1), 'UTF8'),
  substr(ref, position('\x00'::bytea in ref) + 1)
)::payment_key
$$;
