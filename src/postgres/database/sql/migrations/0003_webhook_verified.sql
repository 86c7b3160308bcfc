-- Whether the URL answered a challenge; that of an endpoint from before counts as if it had.
alter table webhook_endpoint add column verified boolean not null default true;
