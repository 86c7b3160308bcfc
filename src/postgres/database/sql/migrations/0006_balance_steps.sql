-- Every change of a balance has a number: "seq" of an account is that of its last. The hold of a run, the
-- return of what it was not charged, and a transfer carry theirs and the balance after it. Null: a change
-- from before, or of no account.
alter table account add column seq bigint not null default 0;
alter table run add column seq bigint, add column balance bigint,
  add column return_seq bigint, add column return_balance bigint;
alter table transfer add column seq bigint, add column balance bigint;
