-- Compares the seals from "first" to "last" with the rows: whether each seal, and each part of it, is wrong.
-- "part": only parts of this name, and no seals; null: all but those in the archive, and answers that may be
-- deleted. "receipts": as in audit_parts.
create or replace function audit_wrong(
  first integer default 1, last integer default null, part text default null,
  receipts regclass default 'receipt'
)
returns setof boolean language sql stable parallel safe as $$
with seal as (
  select seal.*, earlier.up_to as since, earlier.hash as earlier_hash
  from audit_seal seal left join audit_seal earlier on earlier.number = seal.number - 1
  where seal.number between audit_wrong.first and coalesce(audit_wrong.last, seal.number)
), known as (
  select known.*, seal.since from audit_part known left join seal on seal.number = known.number
  where known.number between audit_wrong.first and coalesce(audit_wrong.last, known.number)
), found as (
  select found.* from seal cross join lateral audit_parts(seal.number, seal.since, seal.up_to, receipts) found
  where part is null or exists (
    select from known where known.number = seal.number and known.name = part)
)
select (found.number, found.name, found.entries, found.hash)
  is distinct from (known.number, known.name, known.entries, known.hash)
from found full join known on known.number = found.number and known.name = found.name
where case when part is null
  then coalesce(known.name, found.name) <> all (
    array(select 'receipts of ' || to_char(month, 'YYYY-MM') from archive_month))
    and (known.name is distinct from 'answers' or known.since > now() - interval '24 hours')
  else coalesce(known.name, found.name) = part end
union all
select seal.hash <> audit_chain(seal.earlier_hash, array(
    select row(number, name, entries, hash)::audit_part from known where known.number = seal.number))
  or seal.number > 1 and seal.since is null
from seal where part is null
$$;
