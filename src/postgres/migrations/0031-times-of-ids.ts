import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";
import { LEDGER_FINISH } from "./0005-finish.ts";
import { anew } from "./anew.ts";

/**
 * Runs and receipts are listed by their identifiers (UUIDv7), so these and `created_at` have one source: a run is dated by its identifier,
 * which its instance made; the identifier of a receipt gets the ledger's time.
 */
export class TimesOfIds extends Migration {
  override name = "0031-times-of-ids";

  override up(): void {
    for (const statement of [...anew("ledger_begin", LEDGER_BEGIN), ...anew("ledger_finish", LEDGER_FINISH)])
      this.addSql(statement);
  }
}
