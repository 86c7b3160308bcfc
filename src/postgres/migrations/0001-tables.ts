import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

/** What nobody's account may be: what is booked there would be theirs. */
const LEDGERS_OWN = Object.values(SYSTEM_ACCOUNTS).map((id) => `'${id}'`);

/**
 * The tables. Money is bigint micro-USD. Rows that every call writes carry no foreign keys: nothing they could point to is
 * ever deleted, and the audit checks the links.
 */
export class Tables extends Migration {
  override name = "0001-tables";

  override up(): void {
    // `available` is entries less open holds. It has no check: reversing a payment that was spent makes it negative.
    this.addSql(/* sql */ `
      create table account (
        id uuid primary key constraint account_id_check check (id not in (${LEDGERS_OWN.join(", ")})),
        wallet text not null constraint account_wallet_unique unique,
        available bigint not null default 0,
        rate_per_minute integer not null check (rate_per_minute > 0),
        burst integer not null check (burst > 0),
        operator boolean not null default false,
        created_at timestamptz not null default now()
      ) with (fillfactor = 70)`);

    this.addSql(/* sql */ `
      create table api_key (
        id uuid primary key,
        account_id uuid not null constraint api_key_account_id_foreign references account (id),
        sha256 bytea not null constraint api_key_sha256_unique unique check (octet_length(sha256) = 32),
        prefix text not null,
        name text not null,
        scopes text[] not null,
        created_at timestamptz not null default now(),
        revoked_at timestamptz
      )`);
    this.addSql(/* sql */ `create index api_key_account_id_index on api_key (account_id)`);

    // One row per transaction that reached the treasury. "settled" payments are those that pay the call of their quote; a quote
    // is settled once. "claim_key" is the idempotency row of the call that the payment was last claimed for. What has no owner is
    // suspense's and keeps its memos, also once it is assigned. "reversed": it did not stay on the chain, and its credit was
    // taken back. "looked_at" is its place among those that wait to be finalized.
    this.addSql(/* sql */ `
      create table payment (
        tx_signature bytea primary key check (octet_length(tx_signature) = 64),
        account_id uuid not null,
        quote_id text,
        amount bigint not null check (amount > 0),
        settled boolean not null,
        fingerprint bytea check (octet_length(fingerprint) = 32),
        claim_key text,
        payer text,
        slot bigint not null,
        block_time timestamptz not null,
        finalized boolean not null,
        paid_by text not null check (paid_by in ('transfer', 'gasless')),
        created_at timestamptz not null default now(),
        reversed boolean not null default false,
        looked_at timestamptz not null default now(),
        memos text,
        assigned_to uuid,
        constraint payment_settled_check check (not settled or (fingerprint is not null and claim_key is not null)),
        constraint payment_owner_check check ((quote_id is null) = (account_id = '${SYSTEM_ACCOUNTS.suspense}')),
        constraint payment_assigned_check check (assigned_to is null or quote_id is null),
        constraint payment_reversed_check check (not (reversed and finalized))
      )`);
    this.addSql(
      /* sql */ `create unique index payment_settled_quote_unique on payment (quote_id) where settled`,
    );
    this.addSql(
      /* sql */ `create index payment_unfinalized_index on payment (looked_at) where not finalized and not reversed`,
    );
    this.addSql(
      /* sql */ `create index payment_suspense_index on payment (created_at, tx_signature) where account_id = '${SYSTEM_ACCOUNTS.suspense}' and not reversed`,
    );
    this.addSql(
      /* sql */ `create index payment_open_index on payment (created_at, tx_signature) include (amount) where account_id = '${SYSTEM_ACCOUNTS.suspense}' and not reversed and assigned_to is null`,
    );

    this.addSql(/* sql */ `
      create table run (
        id uuid primary key,
        account_id uuid not null,
        tool text not null,
        status text not null check (status in ('active', 'completed', 'failed', 'cancelled')),
        owner uuid,
        lease_until timestamptz not null,
        price bigint not null check (price >= 0),
        claim_key text,
        quote_id text,
        step_id text,
        tx_signature bytea,
        paid_by text not null check (paid_by in ('balance', 'transfer', 'gasless')),
        error_code text,
        error_message text,
        created_at timestamptz not null default now(),
        started_at timestamptz,
        ended_at timestamptz
      )`);
    this.addSql(/* sql */ `create index run_account_id_id_index on run (account_id, id)`);
    this.addSql(/* sql */ `create index run_account_id_status_id_index on run (account_id, status, id)`);
    this.addSql(/* sql */ `create index run_lease_index on run (lease_until) where status = 'active'`);

    this.addSql(/* sql */ `
      create table hold (
        run_id uuid primary key,
        account_id uuid not null,
        amount bigint not null check (amount > 0),
        state text not null check (state in ('open', 'captured', 'released'))
      ) with (fillfactor = 70)`);

    // Double entry in one row: "amount" leaves "debit" and reaches "credit". "ref" is what the transfer is for, in bytes: the
    // run of a charge or refund, the hashed key of an adjustment, the token account of an opening, that and the transaction
    // of a withdrawal, the transaction of all others.
    this.addSql(/* sql */ `
      create table transfer (
        id bigserial primary key,
        debit uuid not null,
        credit uuid not null,
        amount bigint not null check (amount > 0),
        kind text not null check (kind in ('deposit', 'assignment', 'reversal', 'reinstatement', 'charge', 'refund', 'opening', 'withdrawal', 'adjustment')),
        ref bytea not null,
        note text,
        created_at timestamptz not null default now(),
        constraint transfer_sides_check check (debit <> credit),
        constraint transfer_kind_ref_unique unique (kind, ref)
      )`);
    // What went back: to an account, or with its payment.
    this.addSql(/* sql */ `create index transfer_refund_index on transfer (credit) where kind = 'refund'`);
    this.addSql(/* sql */ `create index transfer_reversal_index on transfer (debit) where kind = 'reversal'`);

    this.addSql(/* sql */ `
      create table receipt (
        id uuid primary key,
        run_id uuid not null constraint receipt_run_id_unique unique,
        transfer_id bigint not null constraint receipt_transfer_id_unique unique,
        account_id uuid not null,
        tool text not null,
        quote_id text,
        step_id text,
        tx_signature bytea,
        quoted bigint not null check (quoted > 0),
        debited bigint not null check (debited > 0),
        paid_by text not null check (paid_by in ('balance', 'transfer', 'gasless')),
        created_at timestamptz not null default now()
      )`);
    this.addSql(/* sql */ `create index receipt_account_id_id_index on receipt (account_id, id)`);
    this.addSql(
      /* sql */ `create index receipt_tx_signature_index on receipt (tx_signature) where tx_signature is not null`,
    );

    // A claim: one per account and key. "result" is json and not jsonb, so that a stored answer keeps its every character. What was
    // claimed with a payment never expires, as a payment is answered for ever; the index holds only what does. "tx_signature" is the
    // payment that last came with it.
    this.addSql(/* sql */ `
      create table idempotency (
        account_id uuid not null,
        key text not null,
        fingerprint bytea not null check (octet_length(fingerprint) = 32),
        state text not null check (state in ('running', 'done', 'retryable')),
        run_id uuid not null,
        tx_signature bytea,
        result json,
        expires_at timestamptz not null,
        primary key (account_id, key),
        constraint idempotency_result_check check ((state = 'done') = (result is not null))
      ) with (fillfactor = 70)`);
    this.addSql(
      /* sql */ `create index idempotency_expires_at_index on idempotency (expires_at) where expires_at < 'infinity'`,
    );

    this.addSql(/* sql */ `
      create table sealing_key (
        version integer primary key check (version between 1 and 65535),
        secret bytea not null check (octet_length(secret) = 32),
        active_from timestamptz not null,
        created_at timestamptz not null default now()
      )`);

    // Unlogged: a bucket is worth no disk write, and after a crash of the database all buckets are full.
    this.addSql(/* sql */ `
      create unlogged table rate_bucket (
        key_id uuid primary key,
        tat bigint not null
      ) with (fillfactor = 50)`);

    this.addSql(/* sql */ `
      create function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
      end $$`);
    for (const table of ["transfer", "receipt"]) {
      this.addSql(/* sql */ `
        create trigger append_only before update or delete or truncate on ${table}
        for each statement execute function refuse_change()`);
    }
  }
}
