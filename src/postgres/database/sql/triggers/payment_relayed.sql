-- A payment that the relay sent is gasless, whether a call or the treasury's watch finds it first. The relay
-- claims before it sends, so the claim always exists before the payment.
create or replace function payment_relayed() returns trigger language plpgsql as $$
begin
  if new.network = 'solana-mainnet' and exists (select from relay where tx_signature = new.reference) then
    new.paid_by := 'gasless';
  end if;
  return new;
end
$$;

create or replace trigger relayed
before insert on payment
for each row execute function payment_relayed();
