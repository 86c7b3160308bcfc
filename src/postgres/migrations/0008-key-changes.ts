import { Migration } from "@mikro-orm/migrations";

/** Tells every instance when what it remembers of an API key is no longer so. The payload is the key's hash, or the account, in hex. */
export class KeyChanges extends Migration {
  override name = "0008-key-changes";

  override up(): void {
    this.addSql(/* sql */ `
      create function notify_key_change() returns trigger language plpgsql as $$
      begin
        perform pg_notify('toolgate_key', 'key:' || encode(new.sha256, 'hex'));
        return null;
      end $$`);
    this.addSql(/* sql */ `
      create trigger key_change after insert or update on api_key
      for each row execute function notify_key_change()`);
    this.addSql(/* sql */ `
      create function notify_account_change() returns trigger language plpgsql as $$
      begin
        perform pg_notify('toolgate_key', 'account:' || encode(uuid_send(new.id), 'hex'));
        return null;
      end $$`);
    this.addSql(/* sql */ `
      create trigger account_change after update of rate_per_minute, burst, operator on account
      for each row execute function notify_account_change()`);
  }
}
