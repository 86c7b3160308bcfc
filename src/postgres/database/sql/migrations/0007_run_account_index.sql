-- Only a comparison of the account proves that it is not null, which it never is: no plan that looks for ids
-- alone reads all of this index, however few rows the statistics know.
drop index run_account_id_id_index;
create index run_account_id_id_index on run (account_id, id) where account_id is not null;
