-- Invalidates the stored answer of a call that was refunded, whose receipt now says so. The payload is the
-- run's id in hex.
create or replace function notify_refund() returns trigger
language plpgsql
as $$
begin
  perform pg_notify('toolgate_refund', encode(new.ref, 'hex'));
  return null;
end
$$;

create or replace trigger refund_notice
after insert on transfer
for each row when (new.kind = 'refund') execute function notify_refund();
