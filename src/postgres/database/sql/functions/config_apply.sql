-- Stores a version of the configuration unless its document is in force already. Outcomes are those of the
-- port. The lock makes concurrent attempts follow each other, so that versions have no gaps and "expected" is
-- checked against the version that this one replaces. A repeat after a lost response is "unchanged".
create or replace function config_apply(document text, source text, actor text, note text, expected integer)
returns table (outcome text, version integer)
language plpgsql security definer
set search_path = public, pg_temp
as $$
#variable_conflict use_column
declare
  hash constant bytea = sha256(convert_to(document, 'UTF8'));
  newest config_version;
begin
  perform pg_advisory_xact_lock(hashtext('toolgate config_version'));
  select * into newest from config_version order by version desc limit 1;
  if newest.checksum = hash then
    return query select 'unchanged', newest.version;
  elsif expected <> coalesce(newest.version, 0) then
    return query select 'conflict', coalesce(newest.version, 0);
  else
    insert into config_version (version, document, checksum, source, actor, note)
    values (coalesce(newest.version, 0) + 1, config_apply.document, hash, config_apply.source,
      config_apply.actor, config_apply.note);
    return query select 'applied', coalesce(newest.version, 0) + 1;
  end if;
end
$$;

revoke execute on function config_apply from public;
