import { Migration } from "@mikro-orm/migrations";

/**
 * Bounds what relayed payments that fail can cost. Quotas count by account. Payments under way count as failures until they are
 * confirmed, for their account and for the wallet that pays. Parameters keep their names: instances of before go on calling.
 */
export class RelayRisk extends Migration {
  override name = "0034-relay-risk";

  override up(): void {
    // The payer is the second account of the message, behind two signatures; version 0 has a byte more (first bit set).
    this.addSql(/* sql */ `
      create function relay_payer(signed_transaction bytea) returns bytea
      language sql immutable parallel safe as $$
        select case when length(signed_transaction) < 198 then signed_transaction
          else substring(signed_transaction from 166 + (get_byte(signed_transaction, 129) >> 7) for 32) end
      $$`);
    this.addSql(/* sql */ `revoke execute on function relay_payer from public`);
    this.addSql(/* sql */ `drop index relay_key_index`);
    this.addSql(/* sql */ `create index relay_account_index on relay (account_id, claimed_at)`);
    this.addSql(
      /* sql */ `create index relay_account_risk_index on relay (account_id, claimed_at) where state <> 'confirmed'`,
    );
    this.addSql(
      /* sql */ `create index relay_payer_index on relay (relay_payer(signed_transaction), claimed_at)`,
    );
    this.addSql(/* sql */ `create index relay_unpaid_index on relay (claimed_at) include (fee_lamports)
                 where state <> 'confirmed' and fee_lamports > 0`);
    this.claims();
    this.moves();
  }

  /** As 0014, and "open", "unproven" and "reserve". A failure that cost a fee still has it in "fee_lamports". */
  private claims(): void {
    this.addSql(/* sql */ `
      create or replace function relay_claim(claim relay, daily_lamports bigint, per_key_hourly integer, failures_hourly integer)
      returns table (kind text, wait_s integer, taken relay)
      language plpgsql rows 1
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        at constant timestamptz := clock_timestamp();
        today constant date := (at at time zone 'utc')::date;
        hour_ago constant timestamptz := at - interval '1 hour';
        day_ago constant timestamptz := at - interval '1 day';
        payer constant bytea := relay_payer(claim.signed_transaction);
        spent bigint;
        unpaid bigint;
        risk record;
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
        select claimed_at into earliest from relay where account_id = claim.account_id and claimed_at > hour_ago
        order by claimed_at desc offset greatest(per_key_hourly - 1, 0) limit 1;
        if found or per_key_hourly <= 0 then
          return query select 'transactions', relay_wait(earliest, at), null::relay;
          return;
        end if;
        select claimed_at into earliest from relay
        where account_id = claim.account_id and claimed_at > hour_ago and state <> 'confirmed' and state = 'failed'
        order by claimed_at desc offset greatest(failures_hourly - 1, 0) limit 1;
        if found or failures_hourly <= 0 then
          return query select 'failures', relay_wait(earliest, at), null::relay;
          return;
        end if;

        -- Two for nothing, and one more for each payment that was confirmed.
        for risk in
          select count(*) as tried, count(*) filter (where state = 'failed') as lost,
            min(claimed_at) filter (where state = 'failed') as since,
            (select count(*) from (select from relay where account_id = claim.account_id and state = 'confirmed' limit 100) paid) as paid
          from relay where account_id = claim.account_id and claimed_at > day_ago and state <> 'confirmed' and fee_lamports > 0
          union all
          select count(*), count(*) filter (where state = 'failed'), min(claimed_at) filter (where state = 'failed'),
            (select count(*) from (
              select from relay where relay_payer(signed_transaction) = payer and state = 'confirmed' limit 100) paid)
          from relay
          where relay_payer(signed_transaction) = payer and claimed_at > day_ago and state <> 'confirmed' and fee_lamports > 0
        loop
          if risk.lost >= 2 + risk.paid then
            return query select 'unproven', relay_wait(risk.since + interval '23 hours', at), null::relay;
            return;
          end if;
          if risk.tried >= 2 + risk.paid then
            return query select 'open', 2, null::relay;
            return;
          end if;
        end loop;

        if spent + claim.fee_lamports > daily_lamports then
          return query select 'budget', relay_wait_day(today, at), null::relay;
          return;
        end if;
        -- Half of the budget is for accounts that have paid: what has not been paid for takes the other half at most.
        if not exists (select from relay where account_id = claim.account_id and state = 'confirmed')
          and not exists (
            select from transfer where credit = claim.account_id and kind = 'deposit' and amount >= 10000) then
          select coalesce(sum(fee_lamports), 0) into unpaid from relay
          where claimed_at >= today::timestamp at time zone 'utc' and state <> 'confirmed' and fee_lamports > 0;
          if unpaid + claim.fee_lamports > daily_lamports / 2 then
            return query select 'reserve', relay_wait_day(today, at), null::relay;
            return;
          end if;
        end if;

        update relay_budget set lamports = lamports + claim.fee_lamports where day = today;
        claim.state := 'claimed';
        claim.reason := null;
        claim.claimed_at := at;
        claim.moved_at := at;
        insert into relay select claim.*;
        return query select 'claimed', 0, claim;
      end $$`);
    // Until the next day of UTC, seconds.
    this.addSql(/* sql */ `
      create function relay_wait_day(today date, at timestamptz) returns integer
      language sql immutable as $$
        select ceil(extract(epoch from (today + 1)::timestamp at time zone 'utc' - at))::integer
      $$`);
    this.addSql(/* sql */ `revoke execute on function relay_wait_day from public`);
    // Written again it has lost its owner's rights.
    this.addSql(/* sql */ `alter function relay_claim security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `revoke execute on function relay_claim from public`);
  }

  /** What never landed has cost nothing: its fee goes back to its day. */
  private moves(): void {
    this.addSql(/* sql */ `
      create or replace function relay_move(hash bytea, target text, why text) returns boolean
      language plpgsql
      set enable_seqscan = off as $$
      declare
        moved relay;
      begin
        select * into moved from relay
        where message_hash = hash and case state
          when 'claimed' then target = 'broadcast'
          when 'broadcast' then target in ('unknown', 'confirmed', 'failed')
          when 'unknown' then target in ('confirmed', 'failed')
          else false end
        for update;
        if not found then
          return false;
        end if;
        if target = 'failed' and why = 'never_landed' then
          update relay_budget set lamports = lamports - moved.fee_lamports
          where day = (moved.claimed_at at time zone 'utc')::date;
          moved.fee_lamports := 0;
        end if;
        update relay set state = target, reason = case when target = 'failed' then why end, moved_at = clock_timestamp(),
          fee_lamports = moved.fee_lamports
        where message_hash = hash;
        return true;
      end $$`);
    // Written again it has lost its owner's rights.
    this.addSql(/* sql */ `alter function relay_move security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `revoke execute on function relay_move from public`);
  }
}
