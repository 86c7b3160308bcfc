-- What the entries of a time span add to each account, and the movements of it to each token account: "since"
-- (null: from the first on, also those archived) to "up_to" (null: to the last), excluded.
create or replace function audit_sums(since timestamptz, up_to timestamptz)
returns table (kind text, holder bytea, amount bigint)
language sql stable parallel safe
as $$
select 'account', uuid_send(account_id), sum(amount)::bigint
from (
  select credit as account_id, amount, id from ledger_entry
  union all
  select debit, -amount, id from ledger_entry
) side
where id >= audit_bound(since) and (up_to is null or id < audit_bound(up_to))
group by account_id
union all
select 'account', uuid_send(account_id), -sum(charged)::bigint from archive_use
where since is null group by account_id
union all
select 'account', uuid_send('00000000-0000-0000-0000-000000000002'), charged from archive_month
where since is null
union all
select 'token_account', token_account, sum(change)::bigint from treasury_movement
where created_at >= coalesce(since, '-infinity') and created_at < coalesce(up_to, 'infinity')
group by token_account
$$;

revoke execute on function audit_sums from public;
