-- The lowest run id (UUIDv7) of a time.
create or replace function partition_bound(at timestamptz)
returns uuid language sql immutable as $$
select (encode(int8send((extract(epoch from at) * 1000)::bigint * 65536), 'hex') || repeat('0', 16))::uuid
$$;
