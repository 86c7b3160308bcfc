-- Moves an amount, and changes the balance of the side that is an account, with the number of the change.
-- Returns that balance; null if no side is an account. One statement: balance_low finds the transfer.
create or replace function ledger_transfer(
  debit uuid, credit uuid, amount bigint, kind text, ref bytea, note text DEFAULT NULL::text
)
returns bigint language plpgsql set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  after bigint;
begin
  with changed as (
    update account a set seq = a.seq + 1,
      available = a.available + case a.id when credit then amount else -amount end
    where a.id in (debit, credit)
    returning a.seq, a.available
  )
  insert into transfer as t (debit, credit, amount, kind, ref, note, seq, balance)
  select debit, credit, amount, kind, ref, note, changed.seq, changed.available
  from (values (1)) one left join changed on true
  returning t.balance into after;
  return after;
end
$$;
