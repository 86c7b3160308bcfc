-- Seals what came after the seal "previous" (0: none) and before "up_to", which an audit has found clean.
-- "parts" is what the audit read: an entry that another transaction committed meanwhile is not in it. Returns
-- false if that differs, if another audit has sealed, or if a transaction that started before "up_to" may
-- still be open.
create or replace function audit_seal_add(previous integer, up_to timestamptz, parts audit_part[])
returns boolean language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  last_seal audit_seal;
begin
  if previous > 0 then
    select * into strict last_seal from audit_seal seal where seal.number = previous;
  end if;
  if up_to <= last_seal.up_to or up_to > now() - interval '1 minute'
    or parts <> array(select part from audit_parts(previous + 1, last_seal.up_to, up_to) part
      order by part.name collate "C") then
    return false;
  end if;
  insert into audit_seal (number, up_to, first_run, hash)
  values (
    previous + 1, up_to,
    (select id from run
      where id >= coalesce(last_seal.first_run, '00000000-0000-0000-0000-000000000000')
        and (run.status = 'active' or ended_at >= up_to)
      order by id limit 1),
    audit_chain(last_seal.hash, parts))
  on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into audit_part select * from unnest(parts);
  insert into audit_sum as known (kind, holder, amount)
  select * from audit_sums(last_seal.up_to, up_to)
  on conflict (kind, holder) do update set amount = known.amount + excluded.amount;
  update revenue_mark set counted_to = audit_bound(up_to), amount = coalesce((
    select known.amount from audit_sum known
    where known.kind = 'account' and known.holder = uuid_send(revenue)), 0)
  where counted_to < audit_bound(up_to);
  return true;
end
$$;
