import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

/** Money that moves without a call: deposits and the operator's adjustments. Both happen once, however often they are asked for. */
export class Deposits extends Migration {
  override name = "0005-deposits";

  override up(): void {
    this.addSql(/* sql */ `
      create function ledger_credit(
        account uuid, signature bytea, amount bigint, quote text, payer text, slot bigint, block_time timestamptz, finalized boolean, paid_by text
      ) returns boolean
      language plpgsql as $$
      #variable_conflict use_variable
      begin
        insert into payment (tx_signature, account_id, quote_id, amount, settled, payer, slot, block_time, finalized, paid_by)
        values (signature, account, quote, amount, false, payer, slot, block_time, finalized, paid_by)
        on conflict do nothing;
        if not found then
          return false;
        end if;
        insert into transfer (debit, credit, amount, kind, ref) values ('${SYSTEM_ACCOUNTS.treasury}', account, amount, 'deposit', signature);
        update account a set available = a.available + amount where a.id = account;
        if not found then
          raise exception 'a deposit names an account that does not exist';
        end if;
        return true;
      end $$`);

    // "done", "repeated", "mismatch" (the key was used with another amount) or "insufficient".
    this.addSql(/* sql */ `
      create function ledger_adjust(account uuid, change bigint, key bytea, note text) returns text
      language plpgsql as $$
      #variable_conflict use_variable
      declare
        adjustments constant uuid := '${SYSTEM_ACCOUNTS.adjustments}';
        source constant uuid := case when change > 0 then adjustments else account end;
        target constant uuid := case when change > 0 then account else adjustments end;
      begin
        insert into transfer (debit, credit, amount, kind, ref, note)
        values (source, target, abs(change), 'adjustment', key, note)
        on conflict do nothing;
        if not found then
          return case when exists (
            select from transfer t
            where t.kind = 'adjustment' and t.ref = key and t.amount = abs(change) and t.debit = source and t.credit = target
          ) then 'repeated' else 'mismatch' end;
        end if;
        update account a set available = a.available + change where a.id = account and (change > 0 or a.available + change >= 0);
        if not found then
          raise exception 'the balance does not cover the adjustment' using errcode = 'check_violation';
        end if;
        return 'done';
      end $$`);
  }
}
