-- Invalidates the cached answer of a refunded call, whose receipt has changed. The payload is the run's id
-- in hex.
create or replace function notify_refund() returns trigger language plpgsql as $$
begin
  perform pg_notify('toolgate_refund', encode(new.ref, 'hex'));
  return null;
end
$$;

create or replace trigger refund_notice
after insert on transfer
for each row when (new.kind = 'refund') execute function notify_refund();
