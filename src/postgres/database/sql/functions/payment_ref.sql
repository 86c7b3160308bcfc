-- The "ref" of transfers that move a payment. No network's name contains a zero byte.
create or replace function payment_ref(network text, reference bytea)
returns bytea language sql immutable parallel safe as $$
select convert_to(network, 'UTF8') || '\x00'::bytea || reference
$$;
