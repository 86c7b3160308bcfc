import { Migration } from "@mikro-orm/migrations";

/**
 * What the console needs: limits of keys, people who sign in, deposits that are waited for, and what operators did. Rows that calls
 * write carry no foreign keys, as in 0001; these do.
 */
export class Console extends Migration {
  override name = "0015-console";

  override up(): void {
    this.keys();
    this.people();
    this.deposits();
    this.operators();
  }

  private keys(): void {
    // "budget_id": the key by which what is spent on a day is counted: its own, or that of the key which it replaces.
    this.addSql(/* sql */ `
      alter table api_key
        add column expires_at timestamptz,
        add column call_limit bigint constraint api_key_call_limit_check check (call_limit > 0),
        add column day_limit bigint constraint api_key_day_limit_check check (day_limit > 0),
        add column tools text[],
        add column budget_id uuid`);
    // What the keys of a budget have taken from the balance on a day of UTC, open holds included. Only of keys with a limit per day.
    this.addSql(/* sql */ `
      create table key_budget (
        budget_id uuid,
        day date,
        spent bigint not null constraint key_budget_spent_check check (spent >= 0),
        primary key (budget_id, day)
      ) with (fillfactor = 50)`);
    // Apart from the key: a change of that is told to every instance.
    this.addSql(/* sql */ `
      create table key_use (
        key_id uuid primary key,
        last_used_at timestamptz not null
      ) with (fillfactor = 50)`);
    // Null: from before keys were recorded.
    this.addSql(/* sql */ `alter table run add column key_id uuid`);
  }

  private people(): void {
    // Until it is signed, or over. "input" is what the wallet was given; "message" the transaction's, where one was asked for.
    this.addSql(/* sql */ `
      create table sign_in_challenge (
        nonce text primary key,
        input json not null,
        message bytea,
        created_at timestamptz not null,
        expires_at timestamptz not null
      )`);
    this.addSql(
      /* sql */ `create index sign_in_challenge_expires_at_index on sign_in_challenge (expires_at)`,
    );
    // Of the cookie only the hash is kept. One that was ended is deleted.
    this.addSql(/* sql */ `
      create table console_session (
        id uuid primary key,
        account_id uuid not null constraint console_session_account_id_foreign references account (id),
        sha256 bytea not null constraint console_session_sha256_unique unique check (octet_length(sha256) = 32),
        address text not null,
        user_agent text not null,
        created_at timestamptz not null,
        last_used_at timestamptz not null,
        expires_at timestamptz not null
      ) with (fillfactor = 70)`);
    this.addSql(/* sql */ `create index console_session_account_id_index on console_session (account_id)`);
    this.addSql(/* sql */ `create index console_session_expires_at_index on console_session (expires_at)`);
    // Below "low_balance" the console warns; null: never. "blocked_reason": the account's keys are refused.
    this.addSql(/* sql */ `
      alter table account
        add column low_balance bigint constraint account_low_balance_check check (low_balance >= 0),
        add column blocked_reason text`);
    // As in 0008, and for being blocked too.
    this.addSql(/* sql */ `drop trigger account_change on account`);
    this.addSql(/* sql */ `
      create trigger account_change after update of rate_per_minute, burst, operator, blocked_reason on account
      for each row execute function notify_account_change()`);
  }

  private deposits(): void {
    // "tx_signature" is what was last seen on the chain; what was credited is told by the payments that name it.
    this.addSql(/* sql */ `
      create table deposit (
        id uuid primary key,
        account_id uuid not null constraint deposit_account_id_foreign references account (id),
        amount bigint not null constraint deposit_amount_check check (amount > 0),
        reference bytea not null constraint deposit_reference_unique unique check (octet_length(reference) = 32),
        tx_signature bytea constraint deposit_tx_signature_check check (octet_length(tx_signature) = 64),
        created_at timestamptz not null
      ) with (fillfactor = 70)`);
    this.addSql(/* sql */ `create index deposit_account_id_id_index on deposit (account_id, id)`);
    // A payment names its deposit where others name their quote.
    this.addSql(
      /* sql */ `create index payment_deposit_index on payment (quote_id) where starts_with(quote_id, 'dep_')`,
    );
    // What an account's statement is made of, besides its charges, which have receipts.
    this.addSql(/* sql */ `
      create index transfer_in_index on transfer (credit, id)
      where kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment')`);
    this.addSql(
      /* sql */ `create index transfer_out_index on transfer (debit, id) where kind in ('reversal', 'adjustment')`,
    );
  }

  private operators(): void {
    // "account_id" is null for the command line. A failure is a second row, which names the first: nothing here is ever changed.
    this.addSql(/* sql */ `
      create table operator_action (
        id uuid primary key,
        at timestamptz not null default now(),
        account_id uuid,
        actor text not null,
        action text not null,
        target text not null,
        details json not null,
        failed_action uuid,
        failure text,
        constraint operator_action_failure_check check ((failed_action is null) = (failure is null))
      )`);
    this.addSql(
      /* sql */ `create index operator_action_failed_index on operator_action (failed_action) where failed_action is not null`,
    );
    this.addSql(/* sql */ `
      create trigger append_only before update or delete or truncate on operator_action
      for each statement execute function refuse_change()`);
  }
}
