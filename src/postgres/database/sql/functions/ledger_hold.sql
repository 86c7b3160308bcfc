-- The last step of ledger_authorize: starts the runs of granted calls, holds their prices, and updates
-- balances, also by what was deposited.
create or replace function ledger_hold(
  calls ledger_call[], instance uuid, lease interval, kinds text[], deposited payment_key[], groups uuid[],
  starts timestamptz[], balances bigint[], seqs bigint[]
)
returns void language plpgsql as $$
begin
  -- Runs are listed by their ids (UUIDv7), so they are dated by them.
  insert into run (
    id, account_id, tool, status, owner, lease_until, price, claim_key, quote_id, step_id, network, reference,
    paid_by, created_at, started_at, key_id, group_id, config_version, request_id, seq, balance)
  select call.run_id, call.account_id, call.tool, 'active', instance, now() + lease, call.price,
    call.claim_key, call.quote_id, call.step_id, (call.payment).network,
    (call.payment).reference, coalesce(payment.paid_by, 'balance'),
    to_timestamp(('x' || substr(encode(uuid_send(call.run_id), 'hex'), 1, 12))::bit(48)::bigint / 1000.0),
    coalesce(starts[call.n], now()), call.key_id, groups[call.n],
    coalesce(call.config_version, 0), call.request_id, case when call.price > 0 then seqs[call.n] end,
    case when call.price > 0 then balances[call.n] end
  from unnest(calls) call
  left join lateral (
    select paid_by from payment
    where network = (call.payment).network and reference = (call.payment).reference offset 0
  ) payment on true
  where kinds[call.n] = 'granted';

  update account set available = account.available + change.amount, seq = change.seq
  from (
    select call.account_id, max(seqs[call.n]) as seq, sum(
      case when call.payment = any (deposited) then call.deposit else 0 end
      - case when kinds[call.n] = 'granted' then call.price else 0 end) as amount
    from unnest(calls) call
    group by call.account_id
  ) change
  where account.id = any (array(select call.account_id from unnest(calls) call))
    and account.id = change.account_id and change.seq > account.seq;
end
$$;
