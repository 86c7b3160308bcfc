import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEAT } from "./0005-finish.ts";

/** A heartbeat finds its runs by their key, also in a small table that was analysed while runs of several states were in it. */
export class BeatByKey extends Migration {
  override name = "0024-beat-by-key";

  override up(): void {
    this.addSql(LEDGER_BEAT);
    // As in 0022.
    this.addSql(/* sql */ `alter function ledger_beat security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `revoke execute on function ledger_beat from public`);
    this.addSql(/* sql */ `alter function ledger_beat set plan_cache_mode = force_generic_plan`);
  }
}
