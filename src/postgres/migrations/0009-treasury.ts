import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

/** The treasury's token account as the chain tells it: its statement, how far it was read, and which instance reads it. */
export class Treasury extends Migration {
  override name = "0009-treasury";

  override up(): void {
    // "change": what the token account gained, or, negative, what left it.
    this.addSql(/* sql */ `
      create table treasury_movement (
        token_account bytea not null check (octet_length(token_account) = 32),
        tx_signature bytea not null check (octet_length(tx_signature) = 64),
        slot bigint not null,
        block_time timestamptz not null,
        change bigint not null check (change <> 0),
        created_at timestamptz not null default now(),
        primary key (token_account, tx_signature)
      )`);
    this.addSql(/* sql */ `
      create trigger append_only before update or delete or truncate on treasury_movement
      for each statement execute function refuse_change()`);

    // "expected" is the opening and the sum of all movements, kept as they come, so that nobody has to add up a long history.
    // "installed_at" is kept here because sealing keys, which tell it at first, can be replaced.
    this.addSql(/* sql */ `
      create table treasury_watch (
        token_account bytea primary key check (octet_length(token_account) = 32),
        slot bigint not null,
        looked_at timestamptz not null default now(),
        opening_amount bigint not null check (opening_amount >= 0),
        opening_slot bigint not null,
        expected bigint not null,
        installed_at timestamptz not null default now()
      ) with (fillfactor = 50)`);

    // One instance at a time does what need be done once. A leader that is silent for as long as its lease is replaced.
    this.addSql(/* sql */ `
      create table leadership (
        name text primary key,
        owner uuid not null,
        until timestamptz not null
      ) with (fillfactor = 50)`);

    this.addSql(/* sql */ `
      create function treasury_lead(instance uuid, lease interval) returns boolean
      language plpgsql as $$
      begin
        insert into leadership as held (name, owner, until) values ('treasury', instance, now() + lease)
        on conflict (name) do update set owner = excluded.owner, until = excluded.until
        where held.owner = excluded.owner or held.until < now();
        return found;
      end $$`);
    this.addSql(/* sql */ `
      create function treasury_resign(instance uuid) returns void
      language plpgsql as $$
      begin
        delete from leadership where name = 'treasury' and owner = instance;
      end $$`);

    // What the account held before is the operator's.
    this.addSql(/* sql */ `
      create function treasury_begin_watch(token bytea, amount bigint, at_slot bigint) returns void
      language plpgsql as $$
      begin
        insert into treasury_watch (token_account, slot, opening_amount, opening_slot, expected, installed_at)
        select token, at_slot, amount, at_slot, amount,
          least((select min(installed_at) from treasury_watch), (select min(created_at) from sealing_key), now())
        on conflict do nothing;
        if found and amount > 0 then
          insert into transfer (debit, credit, amount, kind, ref)
          values ('${SYSTEM_ACCOUNTS.treasury}', '${SYSTEM_ACCOUNTS.operator}', amount, 'opening', token);
        end if;
      end $$`);
    this.addSql(/* sql */ `
      create function treasury_advance_watch(token bytea, to_slot bigint, whole boolean) returns void
      language plpgsql as $$
      begin
        update treasury_watch
        set slot = greatest(slot, to_slot), looked_at = case when whole then now() else looked_at end
        where token_account = token;
      end $$`);
  }
}
