import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

const { treasury, suspense, operator } = SYSTEM_ACCOUNTS;

/** Setting payments right, each once: those that did not stay on the chain, and those that belonged to nobody. Payment first, account last. */
export class Corrections extends Migration {
  override name = "0011-corrections";

  override up(): void {
    // No row: it was taken back before, is finalized, or unknown. Sent again after a lost answer, it tells what it did the first time.
    // The balance may fall below zero: the money may be spent.
    this.addSql(/* sql */ `
      create function treasury_reverse(signature bytea, again boolean default false) returns table (account_id uuid, amount bigint, balance bigint)
      language plpgsql rows 1
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        taken payment;
        holder uuid;
        available bigint;
      begin
        select * into taken from payment where tx_signature = signature and not finalized and (again or not reversed) for update;
        if not found then
          return;
        end if;
        holder := coalesce(taken.assigned_to, taken.account_id);
        if not taken.reversed then
          update payment set reversed = true where tx_signature = signature;
          insert into transfer (debit, credit, amount, kind, ref) values (holder, '${treasury}', taken.amount, 'reversal', signature);
          update account set available = account.available - taken.amount where id = holder;
        end if;
        select account.available into available from account where id = holder;
        if not found then
          select sum(case when credit = holder then transfer.amount else -transfer.amount end) into available from transfer where holder in (credit, debit);
        end if;
        return query select holder, taken.amount, available;
      end $$`);

    // Gives a transfer in suspense to an account, or, without one, to the operator. "assigned", "repeated", "other" (it was
    // assigned to another), "unknown" (there is no such transfer in suspense) or "no_account".
    this.addSql(/* sql */ `
      create function treasury_assign(signature bytea, account uuid, reason text) returns text
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_variable
      declare
        given payment;
        target constant uuid := coalesce(account, '${operator}');
      begin
        select p.* into given from payment p
        where p.tx_signature = signature and p.account_id = '${suspense}' and not p.reversed for update;
        if not found then
          return 'unknown';
        end if;
        if account is not null and not exists (select from account a where a.id = account) then
          return 'no_account';
        end if;
        if given.assigned_to is not null then
          return case when given.assigned_to = target then 'repeated' else 'other' end;
        end if;
        update payment p set assigned_to = target where p.tx_signature = signature;
        insert into transfer (debit, credit, amount, kind, ref, note) values ('${suspense}', target, given.amount, 'assignment', signature, reason);
        update account a set available = a.available + given.amount where a.id = target;
        return 'assigned';
      end $$`);
  }
}
