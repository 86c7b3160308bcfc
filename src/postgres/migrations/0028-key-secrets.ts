import { Migration } from "@mikro-orm/migrations";

/** API keys are signed with secrets of the deployment, by version, so that a forged one is refused without a look at `api_key`. */
export class KeySecrets extends Migration {
  override name = "0028-key-secrets";

  override up(): void {
    this.addSql(/* sql */ `
      create table api_key_secret (
        version integer primary key check (version between 1 and 65535),
        secret bytea not null check (octet_length(secret) = 32),
        active_from timestamptz not null,
        created_at timestamptz not null default now()
      )`);
    // Keys of the form before have no version. They are not signed, so they no longer work.
    this.addSql(/* sql */ `alter table api_key add column secret_version integer`);
    this.addSql(/* sql */ `update api_key set revoked_at = now() where revoked_at is null`);
  }
}
