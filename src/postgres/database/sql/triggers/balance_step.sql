-- A balance changes with its number. Repeated, a function that was replaced while it waited is the new one.
create or replace function balance_step() returns trigger language plpgsql as $$
begin
  raise serialization_failure using message = 'a balance changes only with its number';
end
$$;

create or replace trigger balance_step before update of available on account
for each row when (new.available <> old.available and new.seq = old.seq)
execute function balance_step();
