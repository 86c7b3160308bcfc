-- When an instance last took the endpoint: accounts take turns by the latest of theirs.
alter table webhook_endpoint add column claimed_at timestamptz not null default '-infinity';
