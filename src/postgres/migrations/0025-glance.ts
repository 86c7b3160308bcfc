import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";

/** Beginning calls for less: a batch of new calls is not judged. */
export class Glance extends Migration {
  override name = "0025-glance";

  override up(): void {
    this.addSql(LEDGER_BEGIN);
    // As in 0022.
    this.addSql(/* sql */ `alter function ledger_begin security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `revoke execute on function ledger_begin from public`);
    this.addSql(/* sql */ `alter function ledger_begin set plan_cache_mode = force_generic_plan`);
  }
}
