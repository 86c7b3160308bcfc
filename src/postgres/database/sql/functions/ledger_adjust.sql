-- Returns "done", "repeated", "mismatch" (the key was used with another amount), "insufficient", "excessive"
-- or "unknown" (no such account).
create or replace function ledger_adjust(account uuid, change bigint, key bytea, note text)
returns text language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare
  adjustments constant uuid := '00000000-0000-0000-0000-000000000004';
  source constant uuid := case when change > 0 then adjustments else account end;
  target constant uuid := case when change > 0 then account else adjustments end;
  available bigint;
  earlier transfer;
begin
  select a.available into available from account a where a.id = account for update;
  if not found then
    return 'unknown';
  end if;
  select t.* into earlier from transfer t where t.kind = 'adjustment' and t.ref = key;
  if found then
    return case
      when earlier.amount = abs(change) and earlier.debit = source and earlier.credit = target then 'repeated'
      else 'mismatch' end;
  end if;
  if change < 0 and available + change < 0 then
    return 'insufficient';
  end if;
  if change > 0 and available > 9007199254740991 - change then
    return 'excessive';
  end if;
  perform ledger_transfer(source, target, abs(change), 'adjustment', key, note);
  return 'done';
end
$$;
