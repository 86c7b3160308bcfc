-- Takes what the account holder has allowed once, if the refusal is of that kind. The caller has locked the
-- account, so of several calls one takes it.
create or replace function approval_take(refusal json, of_key uuid, print bytea, price bigint)
returns boolean language plpgsql as $$
begin
  delete from oauth_record where id = approval_of(refusal, of_key, print, price);
  return found;
end
$$;
