-- The tables of lean-call.sql.
create table lean_account (id bigint primary key, balance bigint not null check (balance >= 0));
create table lean_claim (id uuid primary key default uuidv7(), account bigint not null, tool text not null,
  fingerprint bytea not null, state text not null default 'started',
  created_at timestamptz not null default now());
create table lean_hold (claim uuid primary key, account bigint not null, amount bigint not null,
  expires timestamptz not null);
create table lean_receipt (id uuid primary key default uuidv7(), claim uuid not null unique,
  account bigint not null, amount bigint not null, created_at timestamptz not null default now());
create index on lean_receipt (account, id);
insert into lean_account select n, 1000000000000 from generate_series(1, 1000) n;
