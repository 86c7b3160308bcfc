-- A change with its number.
insert into transfer (debit, credit, amount, kind, ref, note, seq, balance)
values
  ('00000000-0000-0000-0000-000000000004', '01900000-0000-7000-8000-000000000001', 1, 'adjustment',
    sha256('01900000000070008000000000000001:up'), 'test', 1, 90001),
  ('01900000-0000-7000-8000-000000000001', '00000000-0000-0000-0000-000000000004', 1, 'adjustment',
    sha256('01900000000070008000000000000001:down'), 'test', 2, 90000);
insert into operator_action (id, actor, action, target, details, once)
values
  ('01900000-0000-7000-8000-000000000063', 'cli:root', 'account.adjust',
    'acct_01900000000070008000000000000001', '{}', '1 up'),
  ('01900000-0000-7000-8000-000000000064', 'cli:root', 'account.adjust',
    'acct_01900000000070008000000000000001', '{}', '-1 down');
update account set seq = 2;
