-- The hash of a seal with these parts, after the seal with the hash "before" (null: none).
create or replace function audit_chain(before bytea, parts audit_part[])
returns bytea language sql immutable parallel safe as $$
select sha256(coalesce(before, ''::bytea) || coalesce(string_agg(
  convert_to(part.name || ' ' || part.entries || ' ', 'UTF8') || part.hash, ''::bytea
  order by part.name collate "C"), ''::bytea))
from unnest(parts) part
$$;
