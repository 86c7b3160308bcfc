-- The application that uses a key by OAuth, as its person saw it.
create table oauth_grant (
  key_id uuid primary key constraint oauth_grant_key_id_foreign references api_key (id) on delete cascade,
  client_id text not null,
  name text not null,
  host text not null,
  verified boolean not null,
  resource text not null
);

-- Tokens, codes, registered clients and pending requests of the authorization server. "id": the SHA-256 of
-- what names the record; the payload has no secret.
create table oauth_record (
  id bytea primary key check (octet_length(id) = 32),
  model text not null,
  key_id uuid constraint oauth_record_key_id_foreign references api_key (id) on delete cascade,
  payload jsonb not null,
  created_at timestamptz not null default now(),
  consumed_at timestamptz,
  expires_at timestamptz not null
);
create index oauth_record_key_id_index on oauth_record (key_id);
create index oauth_record_unused_index on oauth_record (model, created_at)
where key_id is null and expires_at < 'infinity';
create index oauth_record_expires_at_index on oauth_record (expires_at);
