import { Migration } from "@mikro-orm/migrations";
import { BEGIN_ANEW } from "./0004-begin.ts";

/** Beginning calls for less: a batch of new calls is not judged. */
export class Glance extends Migration {
  override name = "0025-glance";

  override up(): void {
    for (const statement of BEGIN_ANEW) this.addSql(statement);
  }
}
