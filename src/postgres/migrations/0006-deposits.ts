import { Migration } from "@mikro-orm/migrations";
import { MAX_MICRO_USD } from "../../domain/money.ts";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

/** Money that moves without a call: deposits, the operator's adjustments and refunds. Each happens once, however often it is asked for. */
export class Deposits extends Migration {
  override name = "0006-deposits";

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

    // "done", "repeated", "mismatch" (the key was used with another amount), "insufficient", "excessive" or "unknown" (there is no
    // such account).
    this.addSql(/* sql */ `
      create function ledger_adjust(account uuid, change bigint, key bytea, note text) returns text
      language plpgsql as $$
      #variable_conflict use_variable
      declare
        adjustments constant uuid := '${SYSTEM_ACCOUNTS.adjustments}';
        source constant uuid := case when change > 0 then adjustments else account end;
        target constant uuid := case when change > 0 then account else adjustments end;
        available bigint;
        earlier transfer;
      begin
        select a.available into available from account a where a.id = account for update;
        if not found then
          return 'unknown';
        end if;
        select t.* into earlier from transfer t where t.kind = 'adjustment' and t.ref = key;
        if found then
          return case when earlier.amount = abs(change) and earlier.debit = source and earlier.credit = target then 'repeated' else 'mismatch' end;
        end if;
        if change < 0 and available + change < 0 then
          return 'insufficient';
        end if;
        if change > 0 and available > ${MAX_MICRO_USD} - change then
          return 'excessive';
        end if;
        insert into transfer (debit, credit, amount, kind, ref, note) values (source, target, abs(change), 'adjustment', key, note);
        update account a set available = a.available + change where a.id = account;
        return 'done';
      end $$`);

    // Gives back what a receipt debited. No row: there is no such receipt.
    this.addSql(/* sql */ `
      create function ledger_refund(receipt_id uuid, note text) returns table (refunded_now boolean, receipt issued_receipt)
      language plpgsql rows 1
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_column
      declare
        given transfer;
      begin
        insert into transfer (debit, credit, amount, kind, ref, note)
        select '${SYSTEM_ACCOUNTS.revenue}', charged.account_id, charged.debited, 'refund', uuid_send(charged.run_id), ledger_refund.note
        from receipt charged where charged.id = receipt_id
        on conflict (kind, ref) do nothing
        returning * into given;
        update account set available = account.available + given.amount where account.id = given.credit;
        return query select given.id is not null, issued from issued_receipt issued where issued.id = receipt_id;
      end $$`);
  }
}
