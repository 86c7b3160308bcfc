-- Starts the calls that are new and covered by their account's balance, in order of arrival, and returns
-- their runs. Takes calls from the balance that no budget counts, as of the account's "limits_version";
-- ledger_authorize decides those that it does not start. Locks in the order of all functions of the ledger:
-- claims and accounts by key.
--
-- Its commit does not wait for the disk: a crash of the database can undo it until the commit of the capture
-- flushes both. Then the call was not charged, as if its instance had died (ADR 0007).
create or replace function ledger_start(
  accounts uuid[], runs uuid[], requests text[], tools text[], prices bigint[], keys uuid[], claims text[],
  fingerprints bytea[], instance uuid, lease interval, versions integer[], limits integer[]
)
returns uuid[] language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  commit_mode constant text = set_config('synchronous_commit', 'off', true);
  claimed uuid[] = '{}';
  started uuid[];
  ids uuid[];
  known uuid[] = '{}';     -- runs that were sent before
begin
  if array_remove(claims, null) <> '{}' then
    with inserted as (
      insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
      select account_id, claim_key, fingerprint, 'running', run_id, now() + interval '48 hours'
      from unnest(accounts, runs, claims, fingerprints) call (account_id, run_id, claim_key, fingerprint)
      where claim_key is not null
      order by account_id, claim_key
      on conflict do nothing
      returning run_id
    )
    select coalesce(array_agg(run_id), '{}') into claimed from inserted;
  end if;

  -- A call with a new claim was not sent before.
  if array_position(claims, null) > 0 then
    ids := array(select id from unnest(runs) id order by id);
    known := array(
      select found.id from unnest(runs) call (run_id)
      cross join lateral (
        select id from run where id = run_id and id between ids[1] and ids[cardinality(ids)] offset 0
      ) found);
  end if;

  -- Runs are listed by their ids (UUIDv7), so they are dated by them. After a price that the balance does not
  -- cover no other of the account is covered, so that numbers have no gap.
  with numbered as (
    select *, case when price > 0 then seq + place end as run_seq,
      case when price > 0 then available - total end as run_balance
    from (
      select call.*, available, seq, sum(price) over earlier as total,
        count(*) filter (where price > 0) over earlier as place
      from (
        select *
        from unnest(accounts, runs, requests, tools, prices, keys, claims, versions, limits)
          with ordinality call (
            account_id, run_id, request_id, tool, price, key_id, claim_key, config_version, limits_version, n)
        where run_id = any (claimed) or claim_key is null and run_id <> all (known)
        order by account_id, n
      ) call
      cross join lateral (
        select available, seq, frozen, limits_version from account where id = call.account_id for update
      ) account
      where not frozen and (account.limits_version = call.limits_version or price = 0)
      window earlier as (partition by account_id order by n)
    ) call
    where available >= total or price = 0
  ), inserted as (
    insert into run (
      id, account_id, tool, status, owner, lease_until, price, claim_key, paid_by, created_at, started_at,
      key_id, config_version, request_id, seq, balance)
    select run_id, account_id, tool, 'active', instance, now() + lease, price, claim_key, 'balance',
      to_timestamp(('x' || substr(encode(uuid_send(run_id), 'hex'), 1, 12))::bit(48)::bigint / 1000.0), now(),
      key_id, config_version, request_id, run_seq, run_balance
    from numbered
  ), debit as (
    select array_agg(account_id) as accounts, array_agg(seq) as seqs, array_agg(amount) as amounts
    from (
      select account_id, max(run_seq) as seq, sum(price)::bigint as amount from numbered group by account_id
    ) debit
    where amount > 0
  ), debited as (
    update account set available = available - amounts[array_position(debit.accounts, id)],
      seq = seqs[array_position(debit.accounts, id)]
    from debit where id = any (debit.accounts)
  )
  select coalesce(array_agg(run_id), '{}') into started from numbered;

  if not claimed <@ started then
    delete from idempotency where ctid = any (array(
      select claim.ctid
      from unnest(accounts, runs, claims) call (account_id, run_id, claim_key)
      cross join lateral (
        select ctid from idempotency where account_id = call.account_id and key = call.claim_key offset 0
      ) claim
      where run_id = any (claimed) and run_id <> all (started)));
  end if;
  return started;
end
$$;
