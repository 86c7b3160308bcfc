-- Writes the event of a payment that was credited to an account.
create or replace function event_deposit(account uuid, of_network text, of_reference bytea)
returns void language plpgsql as $$
begin
  perform event_add(account, 'deposit.credited', (
    select jsonb_build_object(
      'account_id', 'acct_' || encode(uuid_send(account), 'hex'),
      'amount_usdc_microusd', paid.amount, 'network', paid.network,
      'reference', encode(paid.reference, 'hex'))
      || case when starts_with(paid.quote_id, 'dep_') then jsonb_build_object('deposit_id', paid.quote_id)
        else '{}' end
    from payment paid where paid.network = of_network and paid.reference = of_reference));
end
$$;
