-- Attaches a partition for ids from "low" to below "high", and creates it unless it exists. Rows of the range
-- that the default partition caught move to it.
create or replace function partition_attach(parent text, name text, low uuid, high uuid)
returns void language plpgsql as $$
declare
  key constant text = case parent when 'run' then 'id' else 'run_id' end;
  rest constant text = parent || '_default';
begin
  execute format('lock table %I in access exclusive mode', rest);
  execute format('create table if not exists %I (like %I including all)', name, parent);
  if parent = 'receipt' then
    execute format('alter table %I disable trigger append_only', rest);
  end if;
  execute format(
    'with late as (delete from %I where %I >= $1 and %2$I < $2 returning *)
    insert into %I select * from late', rest, key, name) using low, high;
  if parent = 'receipt' then
    execute format('alter table %I enable trigger append_only', rest);
    execute format(
      'create or replace trigger append_only before update or delete or truncate on %I
      for each statement execute function refuse_change()', name);
  end if;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, low, high);
end
$$;
