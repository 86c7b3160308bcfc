-- A step of ledger_authorize: starts a batch of calls if each is new, and its new payment covers its price.
-- Returns false, having written nothing, if any is not. Locks as ledger_authorize. What another transaction
-- inserts after the first statement violates a unique constraint: the batch is rolled back and sent again.
create or replace function ledger_start_proved(calls ledger_call[], instance uuid, lease interval)
returns boolean language plpgsql as $$
#variable_conflict use_column
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
  solvent boolean;
begin
  perform from unnest(calls) call
  left join lateral (
    select available, frozen from account where id = call.account_id offset 0
  ) account on true
  left join lateral (
    select true as found from idempotency
    where account_id = call.account_id and key = call.claim_key offset 0
  ) claim on true
  left join lateral (
    select true as found from payment
    where network = (call.payment).network and reference = (call.payment).reference offset 0
  ) payment on true
  left join lateral (
    select true as found from payment where quote_id = call.quote_id and settled offset 0
  ) other on true
  where deposit is null or deposit < price or claim.found or payment.found or other.found
    or coalesce(available, -1) < 0 or frozen
  limit 1;
  if found then
    return false;
  end if;

  insert into idempotency (account_id, key, fingerprint, state, run_id, network, reference, expires_at)
  select account_id, claim_key, fingerprint, 'running', run_id, (call.payment).network,
    (call.payment).reference, 'infinity'
  from unnest(calls) call
  order by account_id, claim_key;

  insert into payment (
    network, reference, account_id, quote_id, amount, settled, fingerprint, claim_key, payer, slot,
    block_time, finalized, paid_by)
  select (call.payment).network, (call.payment).reference, account_id, quote_id, deposit, true, fingerprint,
    claim_key, payer, slot, block_time, finalized, paid_by
  from unnest(calls) call
  order by call.payment;

  -- Runs are listed by their ids (UUIDv7), so they are dated by them.
  with covered as (
    select call.*, available, seq, frozen
    from (select * from unnest(calls) order by account_id, n) call
    cross join lateral (
      select available, seq, frozen from account where id = call.account_id for update
    ) account
  ), numbered as (
    -- After each call: its deposit is one change of the balance, its hold the next.
    select *, seq + sum(1 + (price > 0)::integer) over earlier as seq_after,
      available + sum(deposit - price) over earlier as balance_after
    from covered window earlier as (partition by account_id order by n)
  ), started as (
    insert into run (
      id, account_id, tool, status, owner, lease_until, price, claim_key, quote_id, step_id, network,
      reference, paid_by, created_at, started_at, key_id, config_version, request_id, seq, balance)
    select run_id, account_id, tool, 'active', instance, now() + lease, price, claim_key, quote_id, step_id,
      (call.payment).network, (call.payment).reference, payment.paid_by,
      to_timestamp(('x' || substr(encode(uuid_send(run_id), 'hex'), 1, 12))::bit(48)::bigint / 1000.0), now(),
      key_id, coalesce(config_version, 0), request_id, case when price > 0 then seq_after end,
      case when price > 0 then balance_after end
    from numbered call
    cross join lateral (
      select paid_by from payment
      where network = (call.payment).network and reference = (call.payment).reference offset 0
    ) payment
  ), deposited as (
    insert into transfer (debit, credit, amount, kind, ref, seq, balance)
    select treasury, account_id, deposit, 'deposit',
      payment_ref((call.payment).network, (call.payment).reference), seq_after - (price > 0)::integer,
      balance_after + price
    from numbered call
  ), change as (
    select array_agg(account_id) as accounts, array_agg(seq) as seqs, array_agg(amount) as amounts
    from (
      select account_id, max(seq_after) as seq, sum(deposit - price)::bigint as amount
      from numbered group by account_id
    ) change
  ), credited as (
    update account set available = available + amounts[array_position(change.accounts, id)],
      seq = seqs[array_position(change.accounts, id)]
    from change where id = any (change.accounts)
  )
  select bool_and(available >= 0 and not frozen) into solvent from covered;
  if not solvent then
    raise serialization_failure
      using message = 'this account has just been frozen, or a payment of it reversed';
  end if;
  return true;
end
$$;
