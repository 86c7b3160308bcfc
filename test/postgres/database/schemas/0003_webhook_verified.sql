-- An endpoint that has not answered its challenge.
insert into webhook_endpoint (id, account_id, slot, url, types, key_version, secret, verified)
values ('01900000-0000-7000-8000-000000000052', '01900000-0000-7000-8000-000000000001', 2,
  'https://hooks.example/', '{balance.low}', 1, '\x00', false);
