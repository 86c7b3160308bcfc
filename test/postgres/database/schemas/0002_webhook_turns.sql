-- An endpoint that an instance has claimed.
insert into webhook_endpoint (id, account_id, slot, url, types, key_version, secret, claimed_at)
values ('01900000-0000-7000-8000-000000000051', '01900000-0000-7000-8000-000000000001', 1,
  'https://hooks.example/', '{balance.low}', 1, '\x00', now());
