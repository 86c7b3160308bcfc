-- An index: nothing that the schemas before it lack.
select 1;
