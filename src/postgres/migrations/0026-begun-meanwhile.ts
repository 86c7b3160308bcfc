import { Migration } from "@mikro-orm/migrations";
import { BEGIN_ANEW } from "./0004-begin.ts";

/** A call that is sent again without a key, while its first sending commits, has begun: it is not short of what it holds. */
export class BegunMeanwhile extends Migration {
  override name = "0026-begun-meanwhile";

  override up(): void {
    for (const statement of BEGIN_ANEW) this.addSql(statement);
  }
}
