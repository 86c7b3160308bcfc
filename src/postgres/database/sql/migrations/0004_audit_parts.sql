-- What a seal covers, by kind: "hash" of a seal continues that of the seal before with those of its parts, in
-- the order of their names. The receipts of the runs of a month are a part of their own: it goes with them to
-- the archive and back (audit_parts).
create table audit_part (
  number integer,
  name text,
  entries bigint not null,
  hash bytea not null constraint audit_part_hash_check check (octet_length(hash) = 32),
  primary key (number, name)
);

-- An audit of what changed finds the payments of an hour.
create index payment_created_index on payment using brin (created_at);

-- Seals of before have no parts: the next audit reads all history and seals it again.
drop table audit_rest;
drop trigger if exists append_only on audit_seal;
delete from audit_seal;
delete from audit_sum;
