-- Accounts with the rate limits in force: their own, else those of their tier, and for all keys of an account
-- together else ten times those of one key, at most the maximum of a tier.
create or replace view account_limits as
select account.id, account.wallet, account.available, account.low_balance, account.operator,
  account.blocked_reason, account.created_at, account.tier, account.request_bodies,
  account.request_hours, account.moved_to, account.limits_version, key_limit.rate_per_minute, key_limit.burst,
  coalesce(account.account_rate_per_minute, rate_tier.account_rate_per_minute,
    least(10 * key_limit.rate_per_minute::bigint, 60000000)::integer) as account_rate_per_minute,
  coalesce(account.account_burst, rate_tier.account_burst,
    least(10 * key_limit.burst::bigint, 10000000)::integer) as account_burst
from account
join rate_tier on rate_tier.name = account.tier
cross join lateral (
  select coalesce(account.rate_per_minute, rate_tier.rate_per_minute) as rate_per_minute,
    coalesce(account.burst, rate_tier.burst) as burst
) key_limit;
