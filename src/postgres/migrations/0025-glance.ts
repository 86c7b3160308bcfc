import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";
import { anew } from "./anew.ts";

/** Beginning calls for less: a batch of new calls is not judged. */
export class Glance extends Migration {
  override name = "0025-glance";

  override up(): void {
    for (const statement of anew("ledger_begin", LEDGER_BEGIN)) this.addSql(statement);
  }
}
