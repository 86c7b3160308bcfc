import { Migration } from "@mikro-orm/migrations";
import { LEDGER_BEGIN } from "./0004-begin.ts";
import { LEDGER_RELEASE } from "./0005-finish.ts";

/** What API keys may be used for, in the ledger: calls name their key, and what a key takes from the balance on a day is counted. */
export class KeyLimits extends Migration {
  override name = "0016-key-limits";

  override up(): void {
    this.addSql(
      /* sql */ `alter type ledger_call add attribute key_id uuid, add attribute budget_id uuid, add attribute day_limit bigint`,
    );
    // Set where the run's hold is counted in key_budget, on the day that the run started.
    this.addSql(/* sql */ `alter table run add column budget_id uuid`);
    // "replaced_by": the key that was made to take its place.
    this.addSql(/* sql */ `
      alter table api_key
        add column replaced_by uuid,
        add constraint api_key_budget_check check ((day_limit is null) = (budget_id is null))`);
    this.addSql(LEDGER_BEGIN);
    this.addSql(LEDGER_RELEASE);
    // As in 0012: a function that is written again loses its owner's rights.
    this.addSql(/* sql */ `alter function ledger_begin security definer set search_path = public, pg_temp`);
    this.addSql(/* sql */ `revoke execute on function ledger_begin from public`);
    this.addSql(/* sql */ `revoke execute on function ledger_release from public`);
  }
}
