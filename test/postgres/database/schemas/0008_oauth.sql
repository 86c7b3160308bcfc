-- A key that an application uses, and its token.
insert into oauth_grant (key_id, client_id, name, host, verified, resource)
select id, 'https://app.example/client.json', 'App', 'app.example', true, 'https://toolgate.example/mcp'
from api_key order by id limit 1;
insert into oauth_record (id, model, key_id, payload, expires_at)
select sha256('token'), 'AccessToken', key_id, '{}', now() + interval '1 hour' from oauth_grant;
