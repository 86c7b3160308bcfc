import { Migration } from "@mikro-orm/migrations";

/** A transaction that answers a challenge is held against the challenge's text: of the one that was made nothing needs to be kept. */
export class Sessions extends Migration {
  override name = "0017-sessions";

  override up(): void {
    this.addSql(/* sql */ `alter table sign_in_challenge drop column message`);
  }
}
