/**
 * The leanest correct SQL of a paid call: claim, hold and debit in one transaction, capture and receipt in
 * another. `:account` is the account, `:claim` what the claim returned.
 */
export const LEAN_CALL = [
  "begin",
  `insert into lean_claim (account, tool, fingerprint)
    values (:account, 'vram_estimate', sha256('params')) returning id as claim`,
  `insert into lean_hold (claim, account, amount, expires)
    values (:claim, :account, 1000, now() + interval '15 seconds')`,
  "update lean_account set balance = balance - 1000 where id = :account and balance >= 1000",
  "commit",
  "begin",
  "delete from lean_hold where claim = :claim",
  "insert into lean_receipt (claim, account, amount) values (:claim, :account, 1000)",
  "update lean_claim set state = 'completed' where id = :claim",
  "commit",
];

/** The durable minimum: two commits of a small row each. */
export const TWO_COMMITS = ["insert into tiny default values", "insert into tiny default values"];

/** Its tables, with funded accounts. */
export function leanTables(accounts: number): string {
  return `
    create table tiny (id bigserial primary key);
    create table lean_account (id bigint primary key, balance bigint not null check (balance >= 0));
    create table lean_claim (id uuid primary key default uuidv7(), account bigint not null,
      tool text not null, fingerprint bytea not null, state text not null default 'started',
      created_at timestamptz not null default now());
    create table lean_hold (claim uuid primary key, account bigint not null, amount bigint not null,
      expires timestamptz not null);
    create table lean_receipt (id uuid primary key default uuidv7(), claim uuid not null unique,
      account bigint not null, amount bigint not null, created_at timestamptz not null default now());
    create index on lean_receipt (account, id);
    insert into lean_account select n, 1000000000000 from generate_series(1, ${accounts}) n`;
}
