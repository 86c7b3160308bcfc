-- A ledger in use: an account with a balance, calls that ended and calls under way, a payment, a refund, and
-- the operators' actions that each program records before a correction.
insert into account (id, wallet, rate_per_minute, burst, available)
values ('01900000-0000-7000-8000-000000000001', 'wallet', 60, 10, 80000);
insert into budget (id, account_id, day_limit, day, month)
values ('01900000-0000-7000-8000-000000000002', '01900000-0000-7000-8000-000000000001', 1000000, '2025-01-01',
  '2025-01-01');
insert into api_key (id, account_id, sha256, prefix, name, scopes, budget_id)
values ('01900000-0000-7000-8000-000000000002', '01900000-0000-7000-8000-000000000001', sha256('key'),
  'sk-agent-abcd', 'old', '{}', '01900000-0000-7000-8000-000000000002');
insert into transfer (debit, credit, amount, kind, ref, note)
values ('00000000-0000-0000-0000-000000000004', '01900000-0000-7000-8000-000000000001', 100000, 'adjustment',
  sha256('01900000000070008000000000000001:gift'), 'test');
insert into operator_action (id, actor, action, target, details, once)
values
  ('01900000-0000-7000-8000-000000000061', 'cli:root', 'account.adjust',
    'acct_01900000000070008000000000000001', '{}', '100000 gift'),
  ('01900000-0000-7000-8000-000000000062', 'cli:root', 'receipt.refund',
    'rcpt_01900000000070008000000000000021', '{}', '');

-- Under way: one with a lease, one whose instance died.
insert into run (id, account_id, tool, status, owner, lease_until, price, paid_by, started_at)
values
  ('01900000-0000-7000-8000-000000000011', '01900000-0000-7000-8000-000000000001', 'vram_estimate', 'active',
    '01900000-0000-7000-8000-0000000000ff', now() + interval '1 day', 10000, 'balance', now()),
  ('01900000-0000-7000-8000-000000000012', '01900000-0000-7000-8000-000000000001', 'vram_estimate', 'active',
    '01900000-0000-7000-8000-0000000000ff', now() - interval '1 day', 10000, 'balance', now());

-- Paid by a transfer, charged, and refunded.
insert into payment (network, reference, account_id, quote_id, amount, paid_by, slot, block_time, settled,
  fingerprint, claim_key, finalized)
values ('solana-mainnet', decode(repeat('aa', 64), 'hex'),
  '01900000-0000-7000-8000-000000000001', 'qt_1', 10000, 'transfer', 1,
  now(), true, sha256('call'), 'key:paid', true);
insert into run (id, account_id, tool, status, owner, lease_until, price, claim_key, quote_id, network,
  reference,
  paid_by, started_at, ended_at)
values ('01900000-0000-7000-8000-000000000013', '01900000-0000-7000-8000-000000000001', 'vram_estimate',
  'completed', '01900000-0000-7000-8000-0000000000ff', now(), 10000, 'key:paid', 'qt_1',
  'solana-mainnet', decode(repeat('aa', 64), 'hex'), 'transfer', now(), now());
insert into idempotency (account_id, key, fingerprint, state, run_id, network, reference, result,
  expires_at)
values ('01900000-0000-7000-8000-000000000001', 'key:paid', sha256('call'), 'done',
  '01900000-0000-7000-8000-000000000013', 'solana-mainnet', decode(repeat('aa', 64), 'hex'),
  '{"answer":42}', 'infinity');
insert into transfer (debit, credit, amount, kind, ref)
values
  ('00000000-0000-0000-0000-000000000001', '01900000-0000-7000-8000-000000000001', 10000, 'deposit',
    convert_to('solana-mainnet', 'UTF8') || '\x00'::bytea || decode(repeat('aa', 64), 'hex')),
  ('00000000-0000-0000-0000-000000000002', '01900000-0000-7000-8000-000000000001', 10000, 'refund',
    uuid_send('01900000-0000-7000-8000-000000000013'));
insert into receipt (id, run_id, account_id, tool, quote_id, network, reference, quoted, debited, paid_by)
select '01900000-0000-7000-8000-000000000021', id, account_id, tool, quote_id, network, reference, price,
  price, 'transfer'
from run where status = 'completed';
update account set available = available + 10000;
