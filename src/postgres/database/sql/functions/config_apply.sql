-- Stores a version of the configuration unless its document is in force already. Outcomes are those of the
-- port. The lock makes concurrent attempts follow each other, so that versions have no gaps and "expected" is
-- checked against the version that this one replaces. A repeat after a lost response is "unchanged". "tiers"
-- are those of the document by name; a foreign key refuses to remove one that an account has.
create or replace function config_apply(
  document text, source text, actor text, note text, expected integer, tiers jsonb
)
returns table (outcome text, version integer)
language plpgsql security definer
set search_path = public, pg_temp as $$
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
    delete from rate_tier where not tiers ? name;
    insert into rate_tier
    select tier.key, (tier.value ->> 'rate_per_minute')::integer, (tier.value ->> 'burst')::integer,
      (tier.value ->> 'account_rate_per_minute')::integer, (tier.value ->> 'account_burst')::integer
    from jsonb_each(tiers) tier
    on conflict (name) do update set
      (rate_per_minute, burst, account_rate_per_minute, account_burst) = (excluded.rate_per_minute,
        excluded.burst, excluded.account_rate_per_minute, excluded.account_burst);
    return query select 'applied', coalesce(newest.version, 0) + 1;
  end if;
end
$$;
