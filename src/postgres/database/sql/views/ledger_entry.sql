-- The ledger: every movement of money between two accounts. A charge is stored as its receipt alone.
create or replace view ledger_entry as
select id, debit, credit, amount, kind::text as kind, ref, note, created_at from transfer
union all
select id, account_id, '00000000-0000-0000-0000-000000000002', debited, 'charge', uuid_send(run_id), null,
  created_at
from receipt;
