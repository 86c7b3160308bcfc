-- A seal of nothing.
insert into audit_seal (number, up_to, entries, hash, whole) values (1, '1970-01-02', 0, sha256(''), true);
