-- When each check last read all history, and how many violations it found. "seal": the last one that it has
-- compared; 0: all.
create table audit_progress (
  name text primary key,
  at timestamptz not null,
  seal integer not null,
  violations bigint not null
) with (fillfactor = 50);

-- A seal finds what an hour added.
create index account_created_index on account using brin (created_at);
create index operator_action_at_index on operator_action using brin (at);

-- Seals of before cover fewer parts: the next audit reads all history and seals it again.
drop trigger if exists append_only on audit_seal;
drop trigger if exists append_only on audit_part;
delete from audit_seal;
delete from audit_part;
delete from audit_sum;
alter table audit_seal drop column whole, drop column entries;
