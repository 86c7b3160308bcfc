import { Migration } from "@mikro-orm/migrations";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

const { treasury, suspense, operator } = SYSTEM_ACCOUNTS;

/**
 * Booking what the chain says of the treasury, each movement once. Locks come in the ledger's order: payment, then the watch,
 * which no other function holds, account last.
 */
export class Movements extends Migration {
  override name = "0010-movements";

  override up(): void {
    // Outcomes are those of the port. The payment stands still before the movement is written: whoever comes at the same time with
    // the same movement, or with the same transaction as the proof of a call, waits for it.
    this.addSql(/* sql */ `
      create function treasury_record(
        token bytea, signature bytea, at_slot bigint, at_time timestamptz, change bigint, owner uuid, quote text, memos text, payer text
      ) returns text
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      #variable_conflict use_variable
      declare
        holder uuid;
        known payment;
        outcome text := 'withdrawn';
      begin
        if change = 0 or exists (select from treasury_movement m where m.token_account = token and m.tx_signature = signature) then
          return 'known';
        end if;

        if change > 0 then
          holder := coalesce((select a.id from account a where a.id = owner and quote is not null), '${suspense}');
          insert into payment (tx_signature, account_id, quote_id, amount, settled, payer, slot, block_time, finalized, paid_by, memos)
          values (signature, holder, case when holder <> '${suspense}' then quote end, change, false, payer, at_slot, at_time, true, 'transfer',
                  case when holder = '${suspense}' then memos end)
          on conflict do nothing;
          if found then
            outcome := case when holder = '${suspense}' then 'suspended' else 'credited' end;
          else
            select p.* into known from payment p where p.tx_signature = signature for update;
            if known.amount <> change then
              return 'mismatch';
            end if;
            outcome := case when known.reversed then 'reinstated' else 'finalized' end;
          end if;
        end if;

        insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
        values (token, signature, at_slot, at_time, change)
        on conflict do nothing;
        if not found then
          if outcome in ('credited', 'suspended') then
            raise exception 'a movement has no payment';
          end if;
          return 'known';
        end if;
        update treasury_watch w set expected = w.expected + change where w.token_account = token;
        if not found then
          raise exception 'the watch of this token account has not begun';
        end if;

        case outcome
          when 'withdrawn' then
            insert into transfer (debit, credit, amount, kind, ref) values ('${operator}', '${treasury}', -change, 'withdrawal', token || signature);
            return outcome;
          when 'finalized' then
            update payment p set finalized = true, slot = at_slot, block_time = at_time where p.tx_signature = signature;
            return outcome;
          when 'reinstated' then
            update payment p set finalized = true, reversed = false, slot = at_slot, block_time = at_time where p.tx_signature = signature;
            insert into transfer (debit, credit, amount, kind, ref)
            select '${treasury}', t.debit, t.amount, 'reinstatement', signature from transfer t where t.kind = 'reversal' and t.ref = signature
            returning credit into strict holder;
          else
            insert into transfer (debit, credit, amount, kind, ref) values ('${treasury}', holder, change, 'deposit', signature);
        end case;
        update account a set available = a.available + change where a.id = holder;
        return outcome;
      end $$`);

    this.addSql(/* sql */ `
      create function treasury_finalize(signatures bytea[]) returns bigint
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      declare
        finalized_now bigint;
      begin
        with due as (
          select tx_signature from payment where tx_signature = any (signatures) and not finalized and not reversed order by tx_signature for update
        )
        update payment set finalized = true from due where payment.tx_signature = due.tx_signature;
        get diagnostics finalized_now = row_count;
        return finalized_now;
      end $$`);

    // Whatever is locked is being judged elsewhere.
    this.addSql(/* sql */ `
      create function treasury_postpone(signatures bytea[]) returns void
      language plpgsql
      set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
      begin
        with due as (
          select tx_signature from payment where tx_signature = any (signatures) order by tx_signature for update skip locked
        )
        update payment set looked_at = now() from due where payment.tx_signature = due.tx_signature;
      end $$`);
  }
}
