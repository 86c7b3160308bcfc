-- All rights of the role that serves. The placeholder is its quoted name. Functions alone write balances,
-- transfers, receipts and payments, with their owner's rights.
revoke all on all tables in schema public from :role;
revoke all on all sequences in schema public from :role;
revoke all on all routines in schema public from :role;
revoke all on schema public from :role;

grant usage on schema public to :role;

grant select on
  account, account_limits, account_move, api_key, api_key_secret, archive_month, archive_use, audit_part,
  audit_progress, audit_seal, audit_sum, budget, budget_limit, config_version, console_session, deposit,
  idempotency, issued_receipt, job_run, key_use, leadership, ledger_entry, migration, moved_run, oauth_grant,
  oauth_record, operator_action, payment, rate_tier, receipt, relay, relay_budget, request_log, revenue_mark,
  run, run_model, sandbox_run, schema_file, schema_version, sealing_key, sign_in_challenge, signing_key,
  transfer, treasury_movement, treasury_watch, unpaid_work, usage_mark, usage_slot, used_nonce,
  webhook_attempt, webhook_delivery, webhook_endpoint, webhook_event
to :role;

grant execute on function
  approval_ask, approval_decide, approval_of,
  account_answers_page, account_answers_add,
  account_arrive, account_arrived,
  account_contents,
  account_depart,
  account_first_open_run,
  account_freeze,
  audit_bound, audit_chain, audit_parts, audit_wrong,
  audit_seal_add,
  audit_sums,
  budget_change,
  budget_exhaust,
  budget_open,
  budget_refusal,
  claims_forget,
  config_apply,
  event_add,
  ledger_adjust,
  ledger_authorize,
  ledger_capture,
  ledger_credit,
  ledger_end,
  ledger_heartbeat,
  ledger_id,
  ledger_prior,
  ledger_refund,
  ledger_start,
  ledger_sweep,
  ledger_time,
  limits_lock, oauth_answer,
  operations_revenue,
  partitions_make,
  payment_of,
  payment_ref,
  rate_take,
  relay_claim,
  relay_forget,
  relay_move,
  relay_reject,
  sandbox_create,
  sandbox_cancel,
  sandbox_end,
  sandbox_forget,
  treasury_advance_watch,
  treasury_assign,
  treasury_start_watch,
  treasury_finalize,
  treasury_lead,
  treasury_postpone,
  treasury_record,
  treasury_resign,
  treasury_reverse,
  unpaid_work_add,
  webhook_replay,
  webhook_test
to :role;

-- Accounts without a balance, keys, sign-ins, and what people and operators decide about them.
grant insert (id, wallet, tier, operator, created_at) on account to :role;
grant update (
  tier, rate_per_minute, burst, account_rate_per_minute, account_burst, operator, low_balance,
  low_balance_reported, blocked_reason, request_bodies, request_hours
) on account to :role;
grant insert (
  id, account_id, sha256, prefix, name, scopes, created_at, expires_at, call_limit, tools, budget_id,
  group_id, secret_version
) on api_key to :role;
grant update (revoked_at, expires_at, replaced_by, name, call_limit, tools, budget_id, group_id) on api_key
to :role;
grant insert (id, account_id, name, day, month, created_at), update (name), delete on budget to :role;
grant insert, update (payload, consumed_at, expires_at), delete on oauth_record to :role;
grant insert (key_id, last_used_at), update (last_used_at) on key_use to :role;
grant insert, update (expires_at), delete on request_log to :role;
grant insert, delete, update (
  url, types, disabled, key_version, secret, old_key_version, old_secret, old_until, failures,
  failing_since, retry_at, owner, lease_until, claimed_at, verified
) on webhook_endpoint to :role;
grant update (delivered_at), delete on webhook_delivery to :role;
grant insert, delete on webhook_attempt to :role;
grant delete on webhook_event to :role;
grant insert (version, secret, active_from) on api_key_secret to :role;
grant insert (version, secret, active_from) on sealing_key to :role;
grant insert (version, secret, active_from) on signing_key to :role;
grant insert (nonce, input, created_at, expires_at), delete on sign_in_challenge to :role;
grant insert (nonce, expires_at), delete on used_nonce to :role;
grant insert (
  id, account_id, sha256, address, user_agent, created_at, last_used_at, expires_at
), update (last_used_at), delete on console_session to :role;
grant insert (id, account_id, amount, reference, tx_signature, created_at),
  update (tx_signature, cancelled_at)
on deposit to :role;
grant insert (
  id, at, account_id, actor, action, target, details, failed_action, failure, once, repeats
) on operator_action to :role;
grant insert on oauth_grant, run_model, usage_slot to :role;
grant update (counted_to) on usage_mark to :role;
grant insert, update (at, seal, violations) on audit_progress to :role;
grant insert, update (instance, started_at, ended_at, every_ms, failure, failures, succeeded_at)
on job_run to :role;
