-- Claims the right to sign and send a transaction. Returns "claimed", "known" (this message was claimed
-- before), "quote_taken" (by the returned relay), "transactions", "failures", "unproven", "open", "budget" or
-- "reserve"; "wait_s" is when to try again. All claims of a day lock the row of its budget, so each counts
-- all before it. Payments that are under way count as failures until they are confirmed. A failed relay that
-- cost a fee keeps it in "fee_lamports".
create or replace function relay_claim(
  claim relay, daily_lamports bigint, per_key_hourly integer, failures_hourly integer
)
returns table (kind text, wait_s integer, taken relay)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
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
  -- The quote may also be paid by the payer's own transfer: sending now would pay for it twice.
  select reference into found_relay.tx_signature from payment where quote_id = claim.quote_id and settled;
  if found then
    return query select 'quote_taken', 0, found_relay;
    return;
  end if;

  -- The oldest claim within the limit: while it is younger than an hour, the limit is reached.
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

  -- Two free attempts, and one more for each confirmed payment: first by account, then by paying wallet.
  for risk in
    select count(*) as tried, count(*) filter (where state = 'failed') as lost,
      min(claimed_at) filter (where state = 'failed') as since,
      (select count(*) from (
        select from relay where account_id = claim.account_id and state = 'confirmed' limit 100) paid) as paid
    from relay
    where account_id = claim.account_id and claimed_at > day_ago and state <> 'confirmed' and fee_lamports > 0
    union all
    select count(*), count(*) filter (where state = 'failed'),
      min(claimed_at) filter (where state = 'failed'),
      (select count(*) from (
        select from relay where relay_payer(signed_transaction) = payer and state = 'confirmed' limit 100
      ) paid)
    from relay
    where relay_payer(signed_transaction) = payer and claimed_at > day_ago and state <> 'confirmed'
      and fee_lamports > 0
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
  -- Half of the budget is reserved for accounts and wallets that have paid.
  if not exists (select from relay where account_id = claim.account_id and state = 'confirmed')
    and not exists (
      select from relay where relay_payer(signed_transaction) = payer and state = 'confirmed')
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
end
$$;
