import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";
import { RECEIPT_OF } from "./0002-receipts.ts";

/**
 * What is known of each call: by its own run (sent again after a lost answer), by its claim, by what the payment of that claim
 * bought since under another one, by its own payment and that payment's claim, by its quote. No verdict: it is new, though its
 * payment may have been credited before without buying anything. "credited": its payment was credited for this very call, which
 * then failed. An answer that exists is told also when its payment was reversed since.
 */
export const LEDGER_JUDGE = /* sql */ `
  create or replace function ledger_judge(calls ledger_call[], instance uuid)
  returns table (call ledger_call, verdict text, payment_claim text, replay_run uuid, result json)
  language sql stable rows 10
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
    select call,
      case
        when own.status = 'active' and own.owner = instance then 'started'
        when own.id is not null then 'in_progress'
        when misused.verdict is not null and not call.keyed then misused.verdict
        when claim.fingerprint <> call.fingerprint then 'mismatch'
        when claim.state = 'running' and claim.run_id is distinct from call.run_id then 'in_progress'
        when claim.state = 'done' then 'replay'
        when bought.state = 'running' and bought.run_id is distinct from call.run_id then 'in_progress'
        when bought.state = 'done' then 'replay'
        when misused.verdict is not null then misused.verdict
        when paid.state = 'running' and paid.run_id is distinct from call.run_id then 'in_progress'
        when paid.state = 'done' then 'replay'
        when payment.reversed then 'reversed'
        when payment.settled and paid.state is null then 'payment_used'
        when payment.settled then 'credited'
        when (select true from payment other where other.quote_id = call.quote_id and other.settled) then 'quote_paid'
      end,
      coalesce(payment.claim_key, former.claim_key),
      case 'done' when claim.state then claim.run_id when bought.state then bought.run_id else paid.run_id end,
      coalesce(claim.result, bought.result, paid.result)
    from unnest(calls) call
    left join lateral (select * from run where id = call.run_id offset 0) own on true
    left join lateral (select * from idempotency where account_id = call.account_id and key = call.claim_key offset 0) claim on true
    left join lateral (select * from payment where tx_signature = claim.tx_signature and account_id = call.account_id offset 0) former on true
    left join lateral (
      select * from idempotency where account_id = former.account_id and key = former.claim_key and fingerprint = call.fingerprint offset 0
    ) bought on true
    left join lateral (select * from payment where tx_signature = call.tx_signature offset 0) payment on true
    left join lateral (select * from idempotency where account_id = payment.account_id and key = payment.claim_key offset 0) paid on true
    cross join lateral (
      select case
        when payment.account_id <> call.account_id or payment.quote_id <> call.quote_id or payment.fingerprint <> call.fingerprint
        then case
          when payment.reversed then 'reversed'
          when payment.account_id = '${SYSTEM_ACCOUNTS.suspense}' then 'unassigned'
          else 'payment_used' end
        end
    ) misused (verdict)
  $$`;

/**
 * The port's "prior": what is known of a call before anything is looked up on the chain. A key that comes with a proof whose call
 * was answered under another key from now on stands for that answer too, so that the key alone is never charged. Of a credited
 * payment its claim is told, so that a proof alone runs under the key that it first came with.
 */
export const LEDGER_PRIOR = /* sql */ `
  create or replace function ledger_prior(asked json)
  returns table (n integer, kind text, result json, receipt issued_receipt, payment_claim text)
  language plpgsql rows 1
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
  #variable_conflict use_column
  declare
    call constant ledger_call := json_populate_record(null::ledger_call, asked);
    judged record;
  begin
    select * into judged from ledger_judge(array[call], null);
    if judged.verdict = 'replay' and call.keyed and judged.payment_claim <> call.claim_key and not exists (
      select from idempotency where account_id = call.account_id and key = call.claim_key and state = 'done'
    ) then
      insert into idempotency as claim (account_id, key, fingerprint, state, run_id, result, expires_at)
      values (call.account_id, call.claim_key, call.fingerprint, 'done', judged.replay_run, judged.result, 'infinity')
      on conflict (account_id, key) do update set state = 'done', run_id = excluded.run_id, result = excluded.result, expires_at = excluded.expires_at
      where claim.state = 'retryable';
    end if;
    return query
      select 1, judged.verdict, judged.result,
        case judged.verdict when 'replay' then ${RECEIPT_OF("judged.replay_run")} end, judged.payment_claim;
  end $$`;

/** Judging calls by what is known of them, without a lock: by their run, their claim, their payment, their quote. */
export class Judge extends Migration {
  override name = "0003-judge";

  override up(): void {
    this.addSql(/* sql */ `
      create type ledger_call as (
        n integer,
        account_id uuid,
        run_id uuid,
        tool text,
        fingerprint bytea,
        price bigint,
        claim_key text,
        keyed boolean, -- whether claim_key is the caller's own, and not made of its payment
        tx_signature bytea,
        quote_id text,
        step_id text,
        deposit bigint,
        payer text,
        slot bigint,
        block_time timestamptz,
        finalized boolean,
        paid_by text
      )`);

    this.addSql(LEDGER_JUDGE);

    this.addSql(LEDGER_PRIOR);
  }
}
