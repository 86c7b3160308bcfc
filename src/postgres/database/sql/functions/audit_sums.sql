-- What the entries of a time span add to each account, and the movements of it to each token account: "since"
-- (null: from the first on, also those archived) to "up_to" (null: to the last), excluded.
create or replace function audit_sums(since timestamptz, up_to timestamptz)
returns table (kind text, holder bytea, amount bigint)
language sql stable parallel safe as $$
select kind, holder, sum(amount)::bigint
from (
  select 'account' as kind, uuid_send(account_id) as holder, amount
  from (
    select credit as account_id, amount, id from ledger_entry
    union all
    select debit, -amount, id from ledger_entry
  ) side
  where id >= audit_bound(since) and (up_to is null or id < audit_bound(up_to))
  union all
  select 'account', uuid_send(account_id), -charged from archive_use where since is null
  union all
  select 'account', uuid_send('00000000-0000-0000-0000-000000000002'), charged from archive_month
  where since is null
  union all
  select 'token_account', token_account, change from treasury_movement
  where created_at >= coalesce(since, '-infinity') and created_at < coalesce(up_to, 'infinity')
) part
group by kind, holder
$$;
