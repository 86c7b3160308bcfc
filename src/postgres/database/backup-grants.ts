import { escapeIdentifier } from "pg";
import { GrantError, inGrantTransaction, requireBoundRole, requireNothingElse } from "./grants.ts";

/** pg_dump reads tables and sequences; pgBackRest reads settings, copies files and checks the archive. */
const GRANTS = `
  alter role :role replication;
  revoke create on schema public from public;
  revoke create, temporary on database :database from public;
  revoke all on database :database from :role;
  revoke all on schema public from :role;
  revoke all on all tables in schema public from :role;
  revoke all on all sequences in schema public from :role;
  revoke all on all routines in schema public from :role;
  grant connect on database :database to :role;
  grant usage on schema public to :role;
  grant select on all tables in schema public to :role;
  grant select on all sequences in schema public to :role;
  alter default privileges in schema public grant select on tables to :role;
  alter default privileges in schema public grant select on sequences to :role;
  grant pg_read_all_settings to :role;
  grant execute on function pg_backup_start, pg_backup_stop, pg_create_restore_point, pg_switch_wal to :role;
`;

/**
 * Grants a role what pgBackRest, pg_dump and replication need, in this database, and revokes everything else.
 * Tables that later migrations add are readable at once if the same role migrates. pgBackRest reads the files
 * as a user of the system and connects to this database: rights on functions are per database.
 * @param databaseUrl with the rights of a superuser
 * @throws GrantError for a role that does not exist, or that could do more
 */
export function grantBackup(databaseUrl: string, role: string): Promise<void> {
  const advice = "back up with a role of its own, created with: create role … login";
  return inGrantTransaction(databaseUrl, "be a superuser", async (client) => {
    await requireBoundRole(client, role, { advice, mayReplicate: true });
    const { rows } = await client.query<{ database: string; serving: boolean }>(
      `select current_database() as database, exists (
         select from pg_proc cross join lateral aclexplode(proacl) join pg_roles on pg_roles.oid = grantee
         where pronamespace = 'public'::regnamespace and prosecdef and rolname = $1
       ) as serving`,
      [role],
    );
    if (rows[0]?.serving) throw new GrantError(`${role} serves (--grant-to); ${advice}`);
    const [name, database] = [escapeIdentifier(role), escapeIdentifier(rows[0]?.database ?? "")];
    await client.query(GRANTS.replaceAll(":role", () => name).replaceAll(":database", () => database));
    await requireNothingElse(client, role);
  });
}
