-- An audit of all history that is under way.
insert into audit_progress (name, at, seal, violations) values ('balances', '2026-01-02', 0, 0),
  ('seals', now(), 1, 0);
