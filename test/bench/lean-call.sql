-- For pgbench: the leanest correct SQL of a paid call. Claim, hold and debit in one transaction, capture and
-- receipt in another.
\set account random(1, :accounts)
begin;
insert into lean_claim (account, tool, fingerprint)
  values (:account, 'vram_estimate', sha256('params')) returning id as claim \gset
insert into lean_hold (claim, account, amount, expires)
  values (:claim, :account, 1000, now() + interval '15 seconds');
update lean_account set balance = balance - 1000 where id = :account and balance >= 1000;
commit;
begin;
delete from lean_hold where claim = :claim;
insert into lean_receipt (claim, account, amount) values (:claim, :account, 1000);
update lean_claim set state = 'completed' where id = :claim;
commit;
