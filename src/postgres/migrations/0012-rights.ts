import { Migration } from "@mikro-orm/migrations";

/** The functions that write what calls and the treasury's work write. */
export const WRITERS = [
  "ledger_prior",
  "ledger_begin",
  "ledger_finish",
  "ledger_sweep",
  "ledger_forget",
  "ledger_beat",
  "ledger_credit",
  "ledger_adjust",
  "ledger_refund",
  "rate_take",
  "treasury_lead",
  "treasury_resign",
  "treasury_begin_watch",
  "treasury_advance_watch",
  "treasury_record",
  "treasury_finalize",
  "treasury_postpone",
  "treasury_reverse",
  "treasury_assign",
] as const;

/** What those call among themselves. */
const INNER = ["ledger_judge", "ledger_lock_claims", "ledger_release"];

/**
 * Functions write with their owner's rights, and only for those who were given them: whoever serves calls needs no right to
 * change a balance, a transfer, a receipt or a payment in any other way.
 */
export class Rights extends Migration {
  override name = "0012-rights";

  override up(): void {
    for (const name of WRITERS) {
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
    }
    for (const name of [...WRITERS, ...INNER])
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
  }
}
