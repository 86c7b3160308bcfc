import { Migration } from "@mikro-orm/migrations";

/** The functions that write what the gasless relay writes. */
export const RELAY_WRITERS = ["relay_claim", "relay_reject", "relay_move", "relay_forget"] as const;

/**
 * What the gasless relay has signed. A claim is written, with the bytes, before anything is sent; whoever finds it can send them
 * again, and nothing else is ever sent. A message is claimed once, a quote by one claim that has not failed.
 */
export class Relays extends Migration {
  override name = "0014-relays";

  override up(): void {
    // "fee_lamports": what it takes from the budget of the day that it was claimed on; nothing once it was rejected unsent.
    this.addSql(/* sql */ `
      create table relay (
        message_hash bytea primary key,
        quote_id text not null,
        account_id uuid not null,
        key_id uuid not null,
        tx_signature bytea not null,
        signed_transaction bytea not null,
        fee_lamports bigint not null constraint relay_fee_check check (fee_lamports >= 0),
        last_valid_block_height bigint not null,
        state text not null constraint relay_state_check check (state in ('claimed', 'broadcast', 'unknown', 'confirmed', 'failed')),
        reason text,
        claimed_at timestamptz not null,
        moved_at timestamptz not null,
        constraint relay_hash_check check (length(message_hash) = 32 and length(tx_signature) = 64),
        constraint relay_reason_check check (reason is null or state = 'failed')
      ) with (fillfactor = 70)`);
    this.addSql(/* sql */ `create unique index relay_tx_signature_unique on relay (tx_signature)`);
    this.addSql(
      /* sql */ `create unique index relay_quote_unique on relay (quote_id) where state <> 'failed'`,
    );
    this.addSql(/* sql */ `create index relay_key_index on relay (key_id, claimed_at)`);
    this.addSql(
      /* sql */ `create index relay_unfinished_index on relay (moved_at) where state in ('claimed', 'broadcast', 'unknown')`,
    );
    this.addSql(
      /* sql */ `create index relay_finished_index on relay (claimed_at) where state in ('confirmed', 'failed')`,
    );
    // "day" is one of UTC.
    this.addSql(/* sql */ `
      create table relay_budget (
        day date primary key,
        lamports bigint not null constraint relay_budget_lamports_check check (lamports >= 0)
      ) with (fillfactor = 50)`);
    this.claims();
    this.moves();

    // Whatever way a relayed transaction becomes a payment, as a call's or found by the watch: it was relayed. It is claimed before it is
    // sent, so that no payment can be ahead of its claim.
    this.addSql(/* sql */ `
      create function payment_relayed() returns trigger language plpgsql as $$
      begin
        if exists (select from relay where tx_signature = new.tx_signature) then
          new.paid_by := 'gasless';
        end if;
        return new;
      end $$`);
    this.addSql(/* sql */ `
      create trigger relayed before insert on payment for each row execute function payment_relayed()`);

    this.addSql(/* sql */ `
      create function relay_forget(most integer) returns bigint
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      declare
        forgotten bigint;
      begin
        delete from relay where message_hash in (
          select old.message_hash from relay old
          where old.state in ('confirmed', 'failed') and old.claimed_at < now() - interval '30 days'
          order by old.claimed_at limit most for update skip locked);
        get diagnostics forgotten = row_count;
        return forgotten;
      end $$`);

    // As in 0012: with their owner's rights, and only for those who were given them.
    for (const name of RELAY_WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
    }
  }

  /**
   * "claimed", "known" (the message was claimed before), "quote_taken" (the row is the one that has it), "transactions", "failures" or
   * "budget"; "wait_s": when to try again. All claims of a day wait for its budget's row, so that each counts all before it.
   */
  private claims(): void {
    this.addSql(/* sql */ `
      create function relay_claim(claim relay, daily_lamports bigint, per_key_hourly integer, failures_hourly integer)
      returns table (kind text, wait_s integer, taken relay)
      language plpgsql rows 1
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        at constant timestamptz := clock_timestamp();
        today constant date := (at at time zone 'utc')::date;
        spent bigint;
        found_relay relay;
        earliest timestamptz;
      begin
        insert into relay_budget (day, lamports) values (today, 0) on conflict do nothing;
        select lamports into spent from relay_budget where day = today for update;

        select * into found_relay from relay where message_hash = claim.message_hash;
        if found then
          return query select 'known', 0, found_relay;
          return;
        end if;
        select * into found_relay from relay where quote_id = claim.quote_id and state <> 'failed';
        if found then
          return query select 'quote_taken', 0, found_relay;
          return;
        end if;
        -- Or by a transfer of the payer's own, which has bought the call: what is sent now would pay for it again.
        select tx_signature into found_relay.tx_signature from payment where quote_id = claim.quote_id and settled;
        if found then
          return query select 'quote_taken', 0, found_relay;
          return;
        end if;

        -- The latest of as many as there may be in an hour: while it is younger than that, there is no room for another.
        select claimed_at into earliest from relay where key_id = claim.key_id and claimed_at > at - interval '1 hour'
        order by claimed_at desc offset greatest(per_key_hourly - 1, 0) limit 1;
        if found or per_key_hourly <= 0 then
          return query select 'transactions', relay_wait(earliest, at), null::relay;
          return;
        end if;
        select claimed_at into earliest from relay where key_id = claim.key_id and claimed_at > at - interval '1 hour' and state = 'failed'
        order by claimed_at desc offset greatest(failures_hourly - 1, 0) limit 1;
        if found or failures_hourly <= 0 then
          return query select 'failures', relay_wait(earliest, at), null::relay;
          return;
        end if;
        if spent + claim.fee_lamports > daily_lamports then
          return query select 'budget', ceil(extract(epoch from (today + 1)::timestamp at time zone 'utc' - at))::integer, null::relay;
          return;
        end if;

        update relay_budget set lamports = lamports + claim.fee_lamports where day = today;
        claim.state := 'claimed';
        claim.reason := null;
        claim.claimed_at := at;
        claim.moved_at := at;
        insert into relay select claim.*;
        return query select 'claimed', 0, claim;
      end $$`);
    // Until the claim that is one too many is an hour old, seconds.
    this.addSql(/* sql */ `
      create function relay_wait(earliest timestamptz, at timestamptz) returns integer
      language sql immutable as $$
        select greatest(1, coalesce(ceil(extract(epoch from earliest + interval '1 hour' - at)), 3600))::integer
      $$`);
    this.addSql(/* sql */ `revoke execute on function relay_wait from public`);
  }

  /** Forward only. Only what was never sent gives its fee back: whoever sends has moved it to "broadcast" before. */
  private moves(): void {
    this.addSql(/* sql */ `
      create function relay_reject(hash bytea, why text) returns boolean
      language plpgsql
      set enable_seqscan = off as $$
      declare
        rejected relay;
      begin
        select * into rejected from relay where message_hash = hash and state = 'claimed' for update;
        if not found then
          return false;
        end if;
        update relay_budget set lamports = lamports - rejected.fee_lamports where day = (rejected.claimed_at at time zone 'utc')::date;
        update relay set state = 'failed', reason = why, moved_at = clock_timestamp(), fee_lamports = 0 where message_hash = hash;
        return true;
      end $$`);
    this.addSql(/* sql */ `
      create function relay_move(hash bytea, target text, why text) returns boolean
      language plpgsql
      set enable_seqscan = off as $$
      begin
        update relay set state = target, reason = case when target = 'failed' then why end, moved_at = clock_timestamp()
        where message_hash = hash and case state
          when 'claimed' then target = 'broadcast'
          when 'broadcast' then target in ('unknown', 'confirmed', 'failed')
          when 'unknown' then target in ('confirmed', 'failed')
          else false end;
        return found;
      end $$`);
  }
}
