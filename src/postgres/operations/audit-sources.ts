import { SOLANA } from "../../domain/payments/payment-id.ts";
import { isArchived } from "../database/audit-check.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";

const { treasury, revenue, suspense } = SYSTEM_ACCOUNTS;

/** Sources of an audit of all history, and of the seals $1 to $2. Others are the tables. */
export const WHOLE = /* sql */ `
  with total as (select * from audit_sums(null, null)),
  new_transfer as not materialized (select * from transfer),
  sealed as (select wrong from audit_wrong($1, $2) wrong),
  audited as (select '-infinity'::timestamptz as since),
  earned as (
    select debited - refunded as amount from issued_receipt
    union all select charged from archive_month
    union all select -amount from transfer
      where kind = 'refund' and ${isArchived("ref")}
  ),
  received as (
    select amount from payment where not reversed
    union all select opening_amount from treasury_watch
    union all select change from treasury_movement where change < 0
  )`;

/**
 * Lowest ids of new entries and of runs that may have changed. Expressions of the parameters, whose values
 * the planner sees: of a subquery it expects a third of all history, and makes hash tables for that. Runs are
 * looked up with `limit 1`, because it expects one in each partition.
 */
const NEW_ENTRY = "audit_bound($1)";
const NEW_RUN = "least($2, audit_bound($1 - interval '5 minutes'))";

/**
 * Sources of an audit of what changed since the seal of time $1, whose first run was $2: under the names of
 * the tables the new rows, and the rows that these point to. Tables that stay small are read whole. Transfers
 * and movements of the last hour before the seal are read again, because the chain finalizes them later.
 */
export const SINCE_SEAL = withMaterialized({
  ledger_entry: `select * from public.ledger_entry where id >= ${NEW_ENTRY}`,
  new_receipt: `select * from public.receipt where id >= ${NEW_ENTRY}`,
  new_transfer: "select * from public.transfer where id >= audit_bound($1 - interval '1 hour')",
  new_movement: "select * from public.treasury_movement where created_at >= $1 - interval '1 hour'",
  // Seals of the last day, and of a very busy one the newest.
  sealed: `select wrong from audit_wrong((
    select min(number) from (
      select seal.number, sum(part.entries) over (order by seal.number desc) - part.entries as later
      from public.audit_seal seal, lateral (
        select coalesce(sum(entries), 0) as entries from public.audit_part where number = seal.number) part
      where seal.up_to > now() - interval '1 day'
    ) recent where later < 1000000)) wrong`,
  // Their ids are of the clocks of instances.
  operator_action: "select * from public.operator_action where id >= audit_bound($1 - interval '2 days')",
  total: "select * from audit_sum union all select * from audit_sums($1, null)",
  // Transactions that waited for a lock may have started before the seal's time.
  audited: "select $1::timestamptz + interval '1 minute' as since",
  recent_run: `
    select * from public.run where id >= ${NEW_RUN}
      and (status = 'active' or ended_at is null or ended_at >= $1)
    union all select * from public.run where status = 'active' and id < ${NEW_RUN}`,
  known_run: `
    select * from recent_run
    union all select run.* from (
      select run_id as id from new_receipt
      union select encode(ref, 'hex')::uuid from new_transfer where kind = 'refund' and length(ref) = 16
      union select other.run_id from new_receipt, lateral (
        select run_id from public.receipt
        where network = new_receipt.network and reference = new_receipt.reference offset 0) other
      except select id from recent_run
    ) key, lateral (select * from public.run where id = key.id limit 1) run`,
  known_payment: `
    select payment.* from (
      select (paid).* from (
        select payment_of(ref) as paid from new_transfer
        where kind in ('deposit', 'assignment', 'reversal', 'reinstatement') and position('\\x00' in ref) > 1
      ) moved
      union select network, reference from known_run where reference is not null
      union select '${SOLANA}', tx_signature from new_movement where change > 0
      union select network, reference from public.payment where not finalized and not reversed
      union select network, reference from public.payment
        where account_id = '${suspense}' and not reversed and assigned_to is null
    ) key (network, reference), lateral (
      select * from public.payment
      where network = key.network and reference = key.reference offset 0) payment`,
  payment: `
    select * from known_payment
    union all select other.* from (select distinct quote_id from known_payment where settled) key, lateral (
      select * from public.payment where quote_id = key.quote_id and settled offset 0) other
    where not exists (select from known_payment known
      where known.network = other.network and known.reference = other.reference)`,
  idempotency: `
    select claim.* from (
      select account_id, claim_key from known_run where claim_key is not null
      union select account_id, claim_key from payment where settled
    ) key, lateral (
      select * from public.idempotency
      where account_id = key.account_id and idempotency.key = key.claim_key offset 0) claim`,
  run: `
    select * from known_run
    union all select run.* from (select run_id as id from idempotency except select id from known_run) key,
      lateral (select * from public.run where id = key.id limit 1) run`,
  receipt: `
    select receipt.* from (select id from run union select run_id from new_receipt) key,
      lateral (select * from public.receipt where run_id = key.id offset 0) receipt`,
  treasury_movement: `
    select movement.* from (
      select token_account, tx_signature from new_movement
      union select token_account, reference from treasury_watch, payment where network = '${SOLANA}'
      union select substr(ref, 1, 32), substr(ref, 33) from new_transfer where kind = 'withdrawal'
    ) key, lateral (
      select * from public.treasury_movement
      where token_account = key.token_account and tx_signature = key.tx_signature offset 0) movement`,
  transfer: `
    select transfer.* from (
      select kind::text, ref from new_transfer
      union select kind, payment_ref(network, reference)
        from unnest(array['deposit', 'assignment', 'reversal', 'reinstatement']) kind, payment
      union select 'opening', token_account from treasury_watch
      union select 'clearing', uuid_send(id) from account_move where amount <> 0
      union select 'withdrawal', token_account || tx_signature from treasury_movement where change < 0
    ) key (kind, ref), lateral (
      select * from public.transfer where transfer.kind = key.kind and transfer.ref = key.ref offset 0
    ) transfer`,
  deposit: `
    select deposit.* from (
      select distinct substr(quote_id, 5)::uuid as id from payment where quote_id ~ '^dep_[0-9a-f]{32}$'
    ) key, lateral (select * from public.deposit where id = key.id offset 0) deposit`,
  earned: `
    select amount from ledger_entry where kind = 'charge'
    union all select -entry.amount from ledger_entry entry
      join receipt on uuid_send(receipt.run_id) = entry.ref where entry.kind = 'refund'
    union all select amount from audit_sum where kind = 'account' and holder = uuid_send('${revenue}'::uuid)`,
  received: `
    select case entry.kind when 'reversal' then -payment.amount else payment.amount end as amount
    from ledger_entry entry join payment on payment_ref(payment.network, payment.reference) = entry.ref
    where entry.kind in ('deposit', 'reversal', 'reinstatement')
    union all select opening_amount from ledger_entry entry
      join treasury_watch watch on watch.token_account = entry.ref where entry.kind = 'opening'
    union all select change from ledger_entry entry
      join treasury_movement moved on moved.token_account || moved.tx_signature = entry.ref
      where entry.kind = 'withdrawal'
    union all select -amount from audit_sum
      where kind = 'account' and holder = uuid_send('${treasury}'::uuid)`,
});

function withMaterialized(sources: Readonly<Record<string, string>>): string {
  const list = Object.entries(sources).map(([name, sql]) => `${name} as materialized (${sql})`);
  return `with ${list.join(",\n")}`;
}
