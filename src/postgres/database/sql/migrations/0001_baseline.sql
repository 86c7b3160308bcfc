-- Money is bigint micro-USD. Times are those of the database's clock.
-- Rows that every call writes carry no foreign keys: nothing they point to is ever deleted, and the audit
-- checks the links.

-- What is installed in this database: one row per file under sql/ and per schema version.
create table schema_file (
  name text primary key,
  checksum text not null,
  applied_at timestamptz not null default now()
);
create table schema_version (
  version integer primary key check (version > 0),
  -- Its system identifier: a dump that is restored elsewhere is recognised by it. Empty: it has none.
  cluster text not null,
  applied_at timestamptz not null default now()
);

-- Domains: unlike a check of a table, theirs is parsed once a session, and not evaluated again when another
-- column changes.
create domain run_status as text constraint run_status_check check (
  value in ('active', 'completed', 'failed', 'cancelled'));
create domain execution_outcome as text constraint execution_outcome_check check (
  value in ('failed', 'timeout', 'cancelled', 'memory_limit', 'cpu_limit', 'output_limit'));
create domain payment_source as text constraint payment_source_check check (
  value in ('balance', 'transfer', 'gasless'));
create domain transfer_kind as text constraint transfer_kind_check check (
  value in (
    'deposit', 'assignment', 'reversal', 'reinstatement', 'refund', 'opening', 'withdrawal', 'adjustment',
    'clearing'));

-- Accounts and API keys

-- Named rate limits: the section "tiers" of the configuration in force, which config_apply() copies here.
create table rate_tier (
  name text primary key,
  rate_per_minute integer not null,
  burst integer not null,
  account_rate_per_minute integer,
  account_burst integer
);
insert into rate_tier (name, rate_per_minute, burst) values ('default', 60, 10);

-- "available" is the sum of entries less open holds. Reversing a payment that was spent makes it negative.
-- Rates and bursts precede those of the tier where they are not null.
-- "request_bodies", "request_hours": of which requests request_log stores params and result, and how long.
-- "low_balance": the console warns below it. "low_balance_reported": the balance is below it and has not been
-- raised since (balance_low). "blocked_reason": set while the account's keys are refused.
-- "frozen": no call is authorized, because the account moves to another cell. "moved_to" is the cell that has
-- it: its history stays here, and money that still reaches it here is sent after it.
-- "limits_version" changes with the limits of any of its keys: ledger_start compares it with the one that the
-- caller's limits were read at. 0: no key ever had limits that the ledger checks.
-- The ids 1 to 6 are the ledger's own accounts (system-accounts.ts).
create table account (
  id uuid primary key constraint account_id_check check (id > '00000000-0000-0000-0000-000000000006'),
  wallet text not null constraint account_wallet_unique unique,
  available bigint not null default 0,
  tier text not null default 'default' constraint account_tier_foreign references rate_tier (name),
  rate_per_minute integer check (rate_per_minute > 0),
  burst integer check (burst > 0),
  account_rate_per_minute integer,
  account_burst integer,
  operator boolean not null default false,
  low_balance bigint constraint account_low_balance_check check (low_balance >= 0),
  low_balance_reported boolean not null default false,
  blocked_reason text,
  limits_version integer not null default 0,
  request_bodies text not null default 'none' constraint account_request_bodies_check check (
    request_bodies in ('none', 'errors', 'all')),
  request_hours integer not null default 168 constraint account_request_hours_check check (
    request_hours between 1 and 720),
  frozen boolean not null default false,
  moved_to integer,
  created_at timestamptz not null default now(),
  constraint account_moved_check check (moved_to is null or frozen)
) with (fillfactor = 70);
create index account_tier_index on account (tier);
create index account_wallet_pattern_index on account (wallet text_pattern_ops);

-- Limits of what a key, or a group of keys, takes from the balance, and what counts against them: charges
-- and open holds of the UTC day "day", of the month that begins with "month", and of all time. A hold of a
-- later day or month sets these to its own. "name" is set for a group. "…_level" is what was reported of the
-- period: 1 the threshold "warn_percent", 2 the limit. Written only while the account is locked.
create table budget (
  id uuid primary key,
  account_id uuid not null constraint budget_account_id_foreign references account (id),
  name text,
  day_limit bigint constraint budget_day_limit_check check (day_limit > 0),
  month_limit bigint constraint budget_month_limit_check check (month_limit > 0),
  total_limit bigint constraint budget_total_limit_check check (total_limit > 0),
  warn_percent integer not null default 80 constraint budget_warn_percent_check check (
    warn_percent between 1 and 100),
  day date not null,
  month date not null,
  day_spent bigint not null default 0 constraint budget_day_spent_check check (day_spent >= 0),
  month_spent bigint not null default 0 constraint budget_month_spent_check check (month_spent >= 0),
  total_spent bigint not null default 0 constraint budget_total_spent_check check (total_spent >= 0),
  day_level integer not null default 0,
  month_level integer not null default 0,
  total_level integer not null default 0,
  created_at timestamptz not null default now()
) with (fillfactor = 50);
create index budget_account_id_index on budget (account_id);

-- "budget_id": the limits per day, month and in all, shared by a key and its replacements; it counts all
-- calls of these keys. "group_id": the group that the key is in. "replaced_by" is the key that took its
-- place. "secret_version" names the row of api_key_secret that signed the key. "issued_by" is the cell that
-- issued a key whose account has moved here.
create table api_key (
  id uuid primary key,
  account_id uuid not null constraint api_key_account_id_foreign references account (id),
  sha256 bytea not null constraint api_key_sha256_unique unique check (octet_length(sha256) = 32),
  prefix text not null,
  name text not null,
  scopes text[] not null,
  secret_version integer,
  issued_by integer,
  expires_at timestamptz,
  revoked_at timestamptz,
  replaced_by uuid,
  call_limit bigint constraint api_key_call_limit_check check (call_limit > 0),
  tools text[],
  budget_id uuid constraint api_key_budget_id_foreign references budget (id) on delete set null,
  group_id uuid constraint api_key_group_id_foreign references budget (id) on delete set null,
  created_at timestamptz not null default now()
);
create index api_key_account_id_index on api_key (account_id);
create index api_key_prefix_pattern_index on api_key (prefix text_pattern_ops);
create index api_key_issued_by_index on api_key (sha256) where issued_by is not null;
create index api_key_budget_id_index on api_key (budget_id);
create index api_key_group_id_index on api_key (group_id);


-- Separate from api_key, whose updates notify every instance.
create table key_use (
  key_id uuid primary key,
  last_used_at timestamptz not null
) with (fillfactor = 50);

-- Secrets that sign API keys, so that a forged key is refused without a query.
create table api_key_secret (
  version integer primary key check (version between 1 and 65535),
  secret bytea not null check (octet_length(secret) = 32),
  active_from timestamptz not null,
  created_at timestamptz not null default now()
);

-- Seeds of the Ed25519 keys that sign x402 offers and receipts.
create table signing_key (
  version integer primary key check (version between 1 and 65535),
  secret bytea not null check (octet_length(secret) = 32),
  active_from timestamptz not null,
  created_at timestamptz not null default now()
);

-- Secrets that seal quotes into their ids.
create table sealing_key (
  version integer primary key check (version between 1 and 65535),
  secret bytea not null check (octet_length(secret) = 32),
  active_from timestamptz not null,
  created_at timestamptz not null default now()
);

-- A token bucket of a key or an account. "tat" is the theoretical arrival time in microseconds (see
-- rate_take). Unlogged: a bucket is not worth a disk write, and after a crash of the database all buckets are
-- full.
create unlogged table rate_bucket (
  bucket_id uuid primary key,
  tat bigint not null
) with (fillfactor = 50);

-- Requests of an account's keys, for its holder. Unlogged: writing them costs little, and no standby or
-- archive holds what was deleted here; a crash of the database empties it. "repeats" counts equal requests
-- without a row of their own. "sealed" holds params and result, encrypted with the secret "key_version" of
-- sealing_key.
create unlogged table request_log (
  account_id uuid not null,
  id uuid not null,
  request_id text not null,
  key_id uuid,
  transport text not null,
  method text not null,
  tool text,
  status integer not null,
  code text,
  run_id uuid,
  receipt_id uuid,
  charged bigint not null,
  trace_id text,
  total_us bigint not null,
  tool_us bigint not null,
  payment_us bigint not null,
  repeats integer not null,
  key_version integer,
  sealed bytea,
  received_at timestamptz not null,
  expires_at timestamptz not null,
  primary key (account_id, id),
  constraint request_log_sealed_check check ((sealed is null) = (key_version is null))
);
create index request_log_request_index on request_log (account_id, request_id);
create index request_log_expires_at_index on request_log (expires_at);

-- A leaky bucket of work that was not charged, per account and tool. "free_at" is when it is empty again.
create table unpaid_work (
  account_id uuid not null,
  tool text not null,
  free_at timestamptz not null,
  primary key (account_id, tool)
) with (fillfactor = 70);
create index unpaid_work_free_at_index on unpaid_work (free_at);

-- Payments

-- What identifies a payment: its network, such as solana-mainnet, and its reference there. A reference is
-- stored as on its network: a transaction signature on Solana has 64 bytes.
create type payment_key as (network text, reference bytea);

-- One row per payment that was received. A settled payment pays the call of its quote; a quote is settled
-- once. "claim_key" is the idempotency row of the call that the payment was last claimed for. A
-- payment without an owner belongs to the suspense account and keeps its memos, also after it is assigned.
-- "reversed": the payment did not stay on its network and its credit was taken back. "slot" is its position
-- there. "looked_at" orders the polling of payments that wait to be finalized.
create table payment (
  network text not null constraint payment_network_check check (octet_length(network) between 1 and 40),
  reference bytea not null,
  account_id uuid not null,
  quote_id text,
  amount bigint not null check (amount > 0),
  paid_by text not null check (paid_by in ('transfer', 'gasless')),
  payer text,
  memos text,
  slot bigint not null,
  block_time timestamptz not null,
  settled boolean not null,
  fingerprint bytea check (octet_length(fingerprint) = 32),
  claim_key text,
  finalized boolean not null,
  reversed boolean not null default false,
  assigned_to uuid,
  looked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (network, reference),
  constraint payment_reference_check check (
    octet_length(reference) between 1 and 100
    and (network <> 'solana-mainnet' or octet_length(reference) = 64)),
  constraint payment_settled_check check (not settled or (fingerprint is not null and claim_key is not null)),
  constraint payment_owner_check check (
    (quote_id is null) = (account_id = '00000000-0000-0000-0000-000000000003')),
  constraint payment_assigned_check check (assigned_to is null or quote_id is null),
  constraint payment_reversed_check check (not (reversed and finalized))
);
create unique index payment_settled_quote_unique on payment (quote_id) where settled;
create index payment_unfinalized_index on payment (network, looked_at) where not finalized and not reversed;
create index payment_suspense_index on payment (created_at, reference)
  where account_id = '00000000-0000-0000-0000-000000000003' and not reversed;
create index payment_open_index on payment (created_at, reference) include (amount)
  where account_id = '00000000-0000-0000-0000-000000000003' and not reversed and assigned_to is null;
create index payment_failed_index on payment (created_at, reference)
  where reversed or (not settled and starts_with(quote_id, 'qt_'));
-- A payment of a deposit carries the deposit's id in place of a quote's.
create index payment_deposit_index on payment (quote_id) where starts_with(quote_id, 'dep_');

-- A deposit that the console waits for. "tx_signature" is the transaction last seen on the chain; what was
-- credited is in the payments that name the deposit.
create table deposit (
  id uuid primary key,
  account_id uuid not null constraint deposit_account_id_foreign references account (id),
  amount bigint not null constraint deposit_amount_check check (amount > 0),
  reference bytea not null constraint deposit_reference_unique unique check (octet_length(reference) = 32),
  tx_signature bytea constraint deposit_tx_signature_check check (octet_length(tx_signature) = 64),
  created_at timestamptz not null,
  cancelled_at timestamptz
) with (fillfactor = 70);
create index deposit_account_id_id_index on deposit (account_id, id);

-- The account that pays a relayed transaction: second in the message, behind two signatures.
-- A version 0 message has one byte more, whose first bit is set. An index depends on this function, so it
-- belongs to this migration and not to sql/functions.
create function relay_payer(signed_transaction bytea) returns bytea
language sql immutable parallel safe
as $$
select case when length(signed_transaction) < 198 then signed_transaction
  else substring(signed_transaction from 166 + (get_byte(signed_transaction, 129) >> 7) for 32) end
$$;
revoke execute on function relay_payer from public;

-- What the gasless relay has signed. A claim is stored, with the bytes, before it is sent; nothing else is
-- ever sent. A message is claimed once, a quote by one claim that has not failed. "fee_lamports" counts
-- against the budget of the day it was claimed on; zero once it was rejected unsent. "account_id" is derived
-- from the wallet for the first payment of a wallet without an account.
create table relay (
  message_hash bytea primary key,
  quote_id text not null,
  account_id uuid not null,
  key_id uuid,
  tx_signature bytea not null,
  signed_transaction bytea not null,
  fee_lamports bigint not null constraint relay_fee_check check (fee_lamports >= 0),
  last_valid_block_height bigint not null,
  state text not null constraint relay_state_check check (
    state in ('claimed', 'broadcast', 'unknown', 'confirmed', 'failed')),
  reason text,
  claimed_at timestamptz not null,
  moved_at timestamptz not null,
  constraint relay_hash_check check (length(message_hash) = 32 and length(tx_signature) = 64),
  constraint relay_reason_check check (reason is null or state = 'failed')
) with (fillfactor = 70);
create unique index relay_tx_signature_unique on relay (tx_signature);
create unique index relay_quote_unique on relay (quote_id) where state <> 'failed';
create index relay_account_index on relay (account_id, claimed_at);
create index relay_account_risk_index on relay (account_id, claimed_at) where state <> 'confirmed';
create index relay_payer_index on relay (relay_payer(signed_transaction), claimed_at);
create index relay_unpaid_index on relay (claimed_at) include (fee_lamports)
  where state <> 'confirmed' and fee_lamports > 0;
create index relay_unfinished_index on relay (moved_at) where state in ('claimed', 'broadcast', 'unknown');
create index relay_finished_index on relay (claimed_at) where state in ('confirmed', 'failed');
create index relay_failed_index on relay (moved_at, tx_signature) where state = 'failed';

-- Fees of relayed transactions per day in UTC.
create table relay_budget (
  day date primary key,
  lamports bigint not null constraint relay_budget_lamports_check check (lamports >= 0)
) with (fillfactor = 50);

-- Calls and the ledger

-- "owner" is the instance that works on the run, until "lease_until". An active run holds its price on the
-- account's balance. "group_id" is the group that its key was in, if the balance pays: it counts there.
-- "request_id" is the one in the caller's answer. Ours begin with their time, and are found by runs of that
-- time; only those of proxies need an index. Partitioned by month (partitions_make).
create table run (
  id uuid not null,
  account_id uuid not null,
  key_id uuid,
  group_id uuid,
  request_id text,
  tool text not null,
  status run_status not null,
  owner uuid,
  lease_until timestamptz not null,
  price bigint not null check (price >= 0),
  claim_key text,
  quote_id text,
  step_id text,
  network text,
  reference bytea,
  paid_by payment_source not null,
  error_code text,
  error_message text,
  -- How the code of an execution ended; null if it succeeded, and for tools that run no code.
  outcome execution_outcome,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  -- The version of the configuration that priced and ran the call; 0: the instance's own, never stored.
  config_version integer not null default 0
) partition by range (id);
create index run_account_id_id_index on run (account_id, id);
-- Lists of an account, and the sweep: most runs complete, and are found by their account and id.
create index run_status_account_id_id_index on run (status, account_id, id) where status <> 'completed';
create index run_request_index on run (request_id) where not starts_with(request_id, 'req_');
-- Last on purpose: of indexes with equal cost PostgreSQL takes the newest, and in a small table all three
-- that contain the id cost the same.
alter table run add constraint run_pkey primary key (id);
create table run_default partition of run default;

-- The first half of the ids of entries (UUIDv7): milliseconds, version, and the microseconds within that
-- millisecond. The order of these ids is that of the transactions' times, to which an id converts exactly.
create function ledger_time(at timestamptz default now()) returns bytea
language sql immutable parallel safe
as $$
select int8send(us / 1000 * 65536 + 28672 + us % 1000)
from (select (extract(epoch from at) * 1000000)::bigint as us) since_1970
$$;
create function ledger_id(at timestamptz default now()) returns uuid
language sql volatile parallel safe
as $$
select encode(overlay(uuid_send(gen_random_uuid()) placing ledger_time(at) from 1), 'hex')::uuid
$$;
revoke execute on function ledger_time, ledger_id from public;

-- Every entry but charges, whose receipts are their entries (see ledger_entry). Double entry in one row:
-- "amount" leaves "debit" and reaches "credit". "ref" is what the transfer is for: the run of a refund, the
-- hashed key of an adjustment, the token account of an opening, that and the transaction of a withdrawal, the
-- account_move of a clearing, the payment (payment_ref) of all others.
create table transfer (
  id uuid primary key default ledger_id(),
  debit uuid not null,
  credit uuid not null,
  amount bigint not null check (amount > 0),
  kind transfer_kind not null,
  ref bytea not null,
  note text,
  created_at timestamptz not null default now(),
  constraint transfer_sides_check check (debit <> credit),
  constraint transfer_kind_ref_unique unique (kind, ref)
);
create index transfer_refund_index on transfer (credit) where kind = 'refund';
create index transfer_reversal_index on transfer (debit) where kind = 'reversal';
-- An account's statement.
create index transfer_in_index on transfer (credit, id)
  where kind in ('deposit', 'assignment', 'refund', 'reinstatement', 'adjustment', 'clearing');
create index transfer_out_index on transfer (debit, id) where kind in ('reversal', 'adjustment', 'clearing');

-- A charge: "debited" leaves the account and reaches revenue. "id" begins with ledger_time(). Partitioned as
-- its runs are, so that no run is charged twice.
create table receipt (
  id uuid not null,
  run_id uuid primary key,
  account_id uuid not null,
  tool text not null,
  quote_id text,
  step_id text,
  network text,
  reference bytea,
  quoted bigint not null,
  debited bigint not null,
  paid_by payment_source not null,
  created_at timestamptz not null default now(),
  constraint receipt_captured_check check (debited > 0 and debited <= quoted)
) partition by range (run_id);
create index receipt_id_index on receipt (id);
create index receipt_account_id_id_index on receipt (account_id, id);
create index receipt_payment_index on receipt (network, reference) where reference is not null;
create table receipt_default partition of receipt default;

-- A claim: one per account and key. "result" is json and not jsonb, so that a stored answer keeps its every
-- character. A claim of a payment never expires. "network" and "reference" are the payment that last
-- came with the claim.
create table idempotency (
  account_id uuid not null,
  key text not null,
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  state text not null check (state in ('running', 'done', 'retryable')),
  run_id uuid not null,
  network text,
  reference bytea,
  result json,
  expires_at timestamptz not null,
  primary key (account_id, key),
  constraint idempotency_result_check check ((state = 'done') = (result is not null))
) with (fillfactor = 70);
create index idempotency_expires_at_index on idempotency (expires_at) where expires_at < 'infinity';

-- Moves of accounts between cells: one row in each of the two, with one id, which is the reference of their
-- clearing entries. "amount" is what the account had, negative for a debt. "other_account" is its id in the
-- other cell; null until that has booked what left. "rest": the account had moved before, and this is money
-- that reached it here since.
create table account_move (
  id uuid primary key,
  direction text not null constraint account_move_direction_check check (direction in ('in', 'out')),
  account_id uuid not null,
  other_cell integer not null,
  other_account uuid,
  amount bigint not null,
  rest boolean not null,
  moved_at timestamptz not null default now(),
  constraint account_move_arrived_check check (direction = 'out' or other_account is not null)
);
create index account_move_open_index on account_move (account_id) where other_account is null;

-- Runs of other cells whose stored answers came with their account, and their receipts (issued_receipt).
create table moved_run (
  run_id uuid primary key,
  receipt json
);

-- Parameters of the ledger's functions. "keyed": claim_key is the caller's own and not derived from its
-- payment. "captured": what a completed call costs of the price it holds; null for all of it.
create type ledger_call as (
  n integer,
  account_id uuid,
  run_id uuid,
  tool text,
  fingerprint bytea,
  price bigint,
  claim_key text,
  keyed boolean,
  payment payment_key,
  quote_id text,
  step_id text,
  deposit bigint,
  payer text,
  slot bigint,
  block_time timestamptz,
  finalized boolean,
  paid_by text,
  key_id uuid,
  config_version integer,
  request_id text
);
create type ledger_ending as (
  n integer,
  run_id uuid,
  outcome text,
  receipt_id uuid,
  captured bigint,
  error_code text,
  error_message text
);

-- Executions of code. "run_id" is the run in the ledger, whose lease is the execution's. "name" is the
-- caller's. "status" is how it ended; the first of a cancel request and the outcome counts.
create table sandbox_run (
  run_id uuid primary key,
  account_id uuid not null,
  key_id uuid,
  name text,
  cancel_requested_at timestamptz,
  status text constraint sandbox_run_status_check check (
    status in ('succeeded', 'failed', 'timeout', 'cancelled', 'memory_limit', 'cpu_limit', 'output_limit')),
  created_at timestamptz not null,
  ended_at timestamptz,
  constraint sandbox_run_ended_check check ((status is null) = (ended_at is null))
) with (fillfactor = 70);
create index sandbox_run_open_index on sandbox_run (account_id) where ended_at is null;
create index sandbox_run_name_index on sandbox_run (account_id, name, created_at) where name is not null;
create index sandbox_run_created_at_index on sandbox_run (created_at);

-- The treasury

-- The statement of the treasury's token account. "change" is positive for what it gained.
create table treasury_movement (
  token_account bytea not null check (octet_length(token_account) = 32),
  tx_signature bytea not null check (octet_length(tx_signature) = 64),
  slot bigint not null,
  block_time timestamptz not null,
  change bigint not null check (change <> 0),
  created_at timestamptz not null default now(),
  primary key (token_account, tx_signature)
);
create index treasury_movement_created_at_index on treasury_movement (created_at);

-- How far the statement was read. "expected" is the opening plus all movements, so that nothing adds up a
-- long history. "installed_at" is kept here because sealing keys, which first recorded it, can be replaced.
create table treasury_watch (
  token_account bytea primary key check (octet_length(token_account) = 32),
  slot bigint not null,
  looked_at timestamptz not null default now(),
  opening_amount bigint not null check (opening_amount >= 0),
  opening_slot bigint not null,
  expected bigint not null,
  installed_at timestamptz not null default now()
) with (fillfactor = 50);

-- Leader leases. A leader that does not renew its lease is replaced.
create table leadership (
  name text primary key,
  owner uuid not null,
  until timestamptz not null
) with (fillfactor = 50);

-- The console and the operator

-- Deleted when it is signed or expired. "input" is the challenge that the wallet received.
create table sign_in_challenge (
  nonce text primary key,
  input json not null,
  created_at timestamptz not null,
  expires_at timestamptz not null
);
create index sign_in_challenge_expires_at_index on sign_in_challenge (expires_at);

-- Nonces of wallets' signed requests that were used. Deleted when no instance accepts them any more.
create table used_nonce (
  nonce text primary key,
  expires_at timestamptz not null
);
create index used_nonce_expires_at_index on used_nonce (expires_at);

-- "sha256" is the hash of the cookie. A session that ends is deleted.
create table console_session (
  id uuid primary key,
  account_id uuid not null constraint console_session_account_id_foreign references account (id),
  sha256 bytea not null constraint console_session_sha256_unique unique check (octet_length(sha256) = 32),
  address text not null,
  user_agent text not null,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  expires_at timestamptz not null
) with (fillfactor = 70);
create index console_session_account_id_index on console_session (account_id);
create index console_session_expires_at_index on console_session (expires_at);

-- Webhooks. Rows carry no foreign keys and no event changes its endpoint: a transaction that moves money
-- waits for no delivery.

-- Where events of an account are sent. Endpoints of operators belong to the ledger's operator account.
-- "disabled" says why nothing is sent: empty if its owner disabled it, else the reason of the gateway.
-- "key_version" names the row of sealing_key that seals the secret; the old secret signs too until
-- "old_until". "failures" counts attempts since the last success. An instance ("owner") delivers until
-- "lease_until". "slot" bounds the endpoints of an account.
create table webhook_endpoint (
  id uuid primary key,
  account_id uuid not null,
  slot integer not null constraint webhook_endpoint_slot_check check (slot between 1 and 10),
  url text not null,
  types text[] not null,
  disabled text,
  key_version integer not null,
  secret bytea not null,
  old_key_version integer,
  old_secret bytea,
  old_until timestamptz,
  failures integer not null default 0,
  failing_since timestamptz,
  retry_at timestamptz not null default now(),
  owner uuid,
  lease_until timestamptz not null default '-infinity',
  created_at timestamptz not null default now(),
  constraint webhook_endpoint_slot_unique unique (account_id, slot),
  constraint webhook_endpoint_old_check check (
    (old_secret is null) = (old_key_version is null) and (old_secret is null) = (old_until is null))
) with (fillfactor = 50);

-- The outbox: an event is written by the transaction that causes it (event_add). "seq" is the order of events
-- of an account, as its locks order their transactions. "once" identifies an event that may be written twice.
create table webhook_event (
  id uuid primary key default ledger_id(),
  seq bigserial,
  account_id uuid not null,
  type text not null,
  data jsonb not null,
  once text,
  created_at timestamptz not null default now()
);
create unique index webhook_event_once_unique on webhook_event (account_id, once) where once is not null;
create index webhook_event_account_id_created_at_index on webhook_event (account_id, created_at);
create index webhook_event_created_at_index on webhook_event (created_at);

-- An event that an endpoint has or will receive.
create table webhook_delivery (
  endpoint_id uuid,
  seq bigint,
  event_id uuid not null,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  primary key (endpoint_id, seq)
) with (fillfactor = 70);
create index webhook_delivery_pending_index on webhook_delivery (endpoint_id, seq) where delivered_at is null;
create index webhook_delivery_event_id_index on webhook_delivery (event_id);

-- The last attempts to deliver. "status" is null without a response.
create table webhook_attempt (
  id uuid primary key default ledger_id(),
  endpoint_id uuid not null,
  event_id uuid not null,
  status integer,
  error text,
  ms integer not null,
  started_at timestamptz not null
);
create index webhook_attempt_endpoint_id_id_index on webhook_attempt (endpoint_id, id);
create index webhook_attempt_event_id_index on webhook_attempt (event_id);

-- What operators did. "account_id" is null for the command line. A failure is a second row that names the
-- first in "failed_action". "once" is the action's idempotency key; "repeats" is the first action with that
-- key.
create table operator_action (
  id uuid primary key,
  at timestamptz not null default now(),
  account_id uuid,
  actor text not null,
  action text not null,
  target text not null,
  details json not null,
  once text,
  repeats uuid,
  failed_action uuid,
  failure text,
  constraint operator_action_failure_check check ((failed_action is null) = (failure is null))
);
create index operator_action_failed_index on operator_action (failed_action) where failed_action is not null;
create index operator_action_once_index on operator_action (target, action, id) where once is not null;

-- Versions of the configuration: tools, prices and models. The newest is in force. "document" is the JSON
-- text that was applied, without secrets; "checksum" is its SHA-256.
create table config_version (
  version integer primary key check (version > 0),
  document text not null,
  checksum bytea not null check (octet_length(checksum) = 32),
  source text not null check (source in ('start', 'apply', 'rollback')),
  actor text not null,
  note text,
  applied_at timestamptz not null default now()
);

-- Revenue of entries up to the id "counted_to", so that nothing adds up all of them again. One row.
create table revenue_mark (
  whole boolean primary key constraint revenue_mark_whole_check check (whole),
  counted_to uuid not null,
  amount bigint not null
) with (fillfactor = 50);
insert into revenue_mark (whole, counted_to, amount) values (true, '00000000-0000-0000-0000-000000000000', 0);

-- The model that served a run, and what its server charged us for that, micro-USD; null: unknown.
create table run_model (
  run_id uuid primary key,
  model text not null,
  cost bigint constraint run_model_cost_check check (cost >= 0)
);

-- Calls by quarter of an hour, so that no chart reads months of receipts. Holds what was charged or failed
-- before usage_mark. "code" is the error of failed runs, and empty for charged ones. "costed" is the part of
-- "spent" whose "cost" is known. "latency" counts charged runs by their duration (usage-sql.ts). Without a
-- key: the zero UUID.
create table usage_slot (
  account_id uuid not null,
  slot timestamptz not null,
  tool text not null,
  key_id uuid not null,
  model text not null,
  code text not null,
  calls bigint not null,
  spent bigint not null,
  costed bigint not null,
  cost bigint not null,
  latency bigint[] not null,
  primary key (account_id, slot, tool, key_id, model, code)
);
create index usage_slot_slot_index on usage_slot (slot);
create table usage_mark (
  whole boolean primary key constraint usage_mark_whole_check check (whole),
  counted_to timestamptz not null
) with (fillfactor = 50);
insert into usage_mark (whole, counted_to) values (true, '-infinity');

-- The last run of each background job: by the leader, or by any instance for jobs that all of them run.
-- "failure" is null after a success.
create table job_run (
  name text primary key,
  instance uuid not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  every_ms bigint not null,
  failure text,
  failures bigint not null,
  succeeded_at timestamptz
) with (fillfactor = 50);

-- What audits found clean and no longer read: entries before "up_to", after those of the seal before. "hash"
-- continues that of the seal before (audit_hash). "first_run" is the lowest id of a run that had not ended;
-- null: there was none. "whole": the audit read all history.
create table audit_seal (
  number integer primary key check (number > 0),
  up_to timestamptz not null constraint audit_seal_up_to_unique unique,
  first_run uuid,
  entries bigint not null,
  hash bytea not null check (octet_length(hash) = 32),
  whole boolean not null,
  created_at timestamptz not null default now()
);

-- Sums of all sealed entries: by account, and of movements by token account.
create table audit_sum (
  kind text constraint audit_sum_kind_check check (kind in ('account', 'token_account')),
  holder bytea,
  amount bigint not null,
  primary key (kind, holder)
) with (fillfactor = 70);

-- Months whose runs and receipts are in the archive, and no longer in the tables. "low" and "high": ids of
-- their runs, from and below. "manifest": SHA-256 of the file that names all others with theirs.
create table archive_month (
  month date primary key constraint archive_month_day_check check (extract(day from month) = 1),
  low uuid not null,
  high uuid not null,
  runs bigint not null,
  receipts bigint not null,
  charged bigint not null,
  first_receipt uuid,
  last_receipt uuid,
  manifest bytea not null constraint archive_month_manifest_check check (octet_length(manifest) = 32),
  archived_at timestamptz not null default now()
);

-- What the archived calls of a month add up to, by account and key (null: the run has none).
create table archive_use (
  id uuid primary key default gen_random_uuid(),
  month date not null,
  account_id uuid not null,
  key_id uuid,
  runs bigint not null,
  receipts bigint not null,
  charged bigint not null,
  first_receipt uuid,
  last_receipt uuid
);
create index archive_use_account_index on archive_use (account_id, month);
create index archive_use_month_index on archive_use (month);

-- The entries before the seal "number" that are not archived: what the full audit compares in place of that
-- seal and those before. At most one row.
create table audit_rest (
  number integer primary key,
  entries bigint not null,
  hash bytea not null constraint audit_rest_hash_check check (octet_length(hash) = 32)
);
