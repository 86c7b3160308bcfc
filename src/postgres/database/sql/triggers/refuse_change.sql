-- Rows of these tables are never changed or deleted.
create or replace function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;

create or replace trigger append_only before update or delete or truncate on transfer
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on receipt
for each statement execute function refuse_change();
-- A trigger of the table does not guard its partitions when they are named themselves (partition_attach).
create or replace trigger append_only before update or delete or truncate on receipt_default
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on treasury_movement
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on config_version
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on operator_action
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on audit_seal
for each statement execute function refuse_change();
create or replace trigger append_only before update or delete or truncate on audit_part
for each statement execute function refuse_change();
