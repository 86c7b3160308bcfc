-- The lowest id of an entry of that time or later; of the first entry at all for null.
create or replace function audit_bound(at timestamptz) returns uuid language sql immutable parallel safe as $$
select encode(coalesce(ledger_time(at), '\x0000000000000000') || '\x0000000000000000', 'hex')::uuid
$$;
