import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";
import { LEDGER_BEAT, LEDGER_LOCK_CLAIMS, LEDGER_RELEASE } from "./0005-finish.ts";

/** Runs at most of which a key is made anew without holding up those who call. */
const FEW = 100_000;

/**
 * What every call reads and writes is found by its keys, whatever the statistics say: also those of a table with one row, which a plan that
 * is kept would read as a whole for every row of a batch, until it is analysed again.
 */
export class ReadByKeys extends Migration {
  override name = "0022-read-by-keys";

  override up(): void {
    for (const text of [LEDGER_BEGIN, LEDGER_LOCK_CLAIMS, LEDGER_RELEASE, LEDGER_BEAT]) this.addSql(text);
    // As in 0012: a function that is written again loses its owner's rights.
    for (const name of ["ledger_begin", "ledger_beat"])
      this.addSql(/* sql */ `alter function ${name} security definer set search_path = public, pg_temp`);
    for (const name of ["ledger_begin", "ledger_lock_claims", "ledger_release", "ledger_beat"]) {
      this.addSql(/* sql */ `revoke execute on function ${name} from public`);
      this.addSql(/* sql */ `alter function ${name} set plan_cache_mode = force_generic_plan`);
    }
    this.addSql(/* sql */ `alter function ledger_credit set enable_seqscan = off`);

    // Of indexes that cost the same the newest is taken, and while there are a few runs all three that hold their id cost the same. So the
    // one that begins with it has to be the newest. Where there are many runs they are known by now, and it is much work.
    this.addSql(/* sql */ `
      do $$ begin
        if not exists (select from run offset ${FEW}) then
          alter table run drop constraint run_pkey, add constraint run_pkey primary key (id);
        end if;
      end $$`);
  }
}
