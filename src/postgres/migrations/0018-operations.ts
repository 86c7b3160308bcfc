import { Migration } from "@mikro-orm/migrations";

/** What the operator's look at the service needs. */
export class Operations extends Migration {
  override name = "0018-operations";

  override up(): void {
    // Byte by byte, so that a beginning is a range, whatever the database's collation.
    this.addSql(/* sql */ `create index account_wallet_pattern_index on account (wallet text_pattern_ops)`);
    this.addSql(/* sql */ `create index api_key_prefix_pattern_index on api_key (prefix text_pattern_ops)`);
  }
}
