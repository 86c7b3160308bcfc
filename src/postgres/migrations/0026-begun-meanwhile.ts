import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";
import { anew } from "./anew.ts";

/** A call that is sent again without a key, while its first sending commits, has begun: it is not short of what it holds. */
export class BegunMeanwhile extends Migration {
  override name = "0026-begun-meanwhile";

  override up(): void {
    for (const statement of anew("ledger_begin", LEDGER_BEGIN)) this.addSql(statement);
  }
}
