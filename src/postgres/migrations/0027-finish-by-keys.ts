import { Migration } from "@mikro-orm/migrations";
import { LEDGER_FINISH } from "./0005-finish.ts";
import { anew } from "./anew.ts";

/** Runs that end are found by nothing but their keys, also by PostgreSQL 15, which joined them along another index while they were few. */
export class FinishByKeys extends Migration {
  override name = "0027-finish-by-keys";

  override up(): void {
    for (const statement of anew("ledger_finish", LEDGER_FINISH)) this.addSql(statement);
  }
}
