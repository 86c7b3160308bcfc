import { DatabaseError, escapeIdentifier, type Client } from "pg";
import { MIGRATION_LOCK } from "./migrate.ts";
import { grantTo } from "./repeatable.ts";
import { clientFor } from "./server.ts";
import { readSqlSchema } from "./sql-files.ts";

/** SQLSTATE. */
const INSUFFICIENT_PRIVILEGE = "42501";

/** The role cannot serve; the message names the reason and the remedy. */
export class GrantError extends Error {
  override name = "GrantError";
}

/**
 * Grants a role what `serve` needs on the current schema (sql/grants) and revokes everything else, in one
 * transaction, so that a running gateway is not interrupted. Rights that every role has by default (temporary
 * tables) are revoked from all. `migrate` repeats the grants when they or a function change.
 * @param databaseUrl with the rights of the schema's owner
 * @throws GrantError for a role that does not exist, or that could still do more
 */
export function grantServing(databaseUrl: string, role: string): Promise<void> {
  const advice = "serve with a role of its own, created with: create role … login password '…'";
  return inGrantTransaction(databaseUrl, "own the database and its tables", async (client) => {
    await requireBoundRole(client, role, { advice, mayReplicate: false });
    await grant(client, role);
    await requireNothingElse(client, role);
  });
}

/**
 * Runs grants in one transaction that excludes migrations.
 * @param right what the role of the URL needs
 * @throws GrantError
 */
async function inGrantTransaction(
  databaseUrl: string,
  right: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = clientFor(databaseUrl);
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await client.query("begin");
    await work(client);
    await client.query("commit");
  } catch (error) {
    throw error instanceof DatabaseError && error.code === INSUFFICIENT_PRIVILEGE
      ? new GrantError(`DATABASE_URL's role must ${right} to grant this (${error.message})`)
      : error;
  } finally {
    // Ends the transaction and releases the lock, whatever happened.
    await client.end();
  }
}

/** @throws GrantError for a role that grants cannot restrict */
async function requireBoundRole(
  client: Client,
  role: string,
  { advice, mayReplicate }: { advice: string; mayReplicate: boolean },
): Promise<void> {
  const { rows } = await client.query<{ mighty: boolean; owner: boolean; database: boolean }>(
    `select
       exists (
         select from pg_roles other where pg_has_role(role.oid, other.oid, 'member') and (
           other.rolsuper or other.rolcreaterole or other.rolreplication and not $2 or other.rolbypassrls
           or other.rolname = any (array[
             'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files',
               'pg_execute_server_program',
             'pg_maintain']))
       ) as mighty,
       exists (
         select from pg_class
         where relnamespace = 'public'::regnamespace and pg_has_role(role.oid, relowner, 'member')
       ) or exists (
         select from pg_proc
         where pronamespace = 'public'::regnamespace and pg_has_role(role.oid, proowner, 'member')
       ) as owner,
       exists (
         select from pg_database where datname = current_database()
           and pg_has_role(role.oid, datdba, 'member')
       ) as database
     from pg_roles role where role.rolname = $1`,
    [role, mayReplicate],
  );
  const [found] = rows;
  if (!found)
    throw new GrantError(`there is no role ${role}; create it first: create role … login password '…'`);
  if (found.mighty)
    throw new GrantError(`${role} is a superuser or nearly one, which grants cannot restrict; ${advice}`);
  if (found.owner)
    throw new GrantError(`${role} owns tables of this database, or is a member of their owner; ${advice}`);
  if (found.database) throw new GrantError(`${role} owns this database; ${advice}`);
}

async function grant(client: Client, role: string): Promise<void> {
  const { rows } = await client.query<{ database: string }>("select current_database() as database");
  const [name, database] = [escapeIdentifier(role), escapeIdentifier(rows[0]?.database ?? "")];
  const statements = [
    `revoke create on schema public from public`,
    `revoke create, temporary on database ${database} from public, ${name}`,
    `grant connect on database ${database} to ${name}`,
  ];
  for (const statement of statements) await client.query(statement);
  await grantTo(client, readSqlSchema(), role);
}

/**
 * Compares the rights of the role with the rights that the owners of tables and functions granted to it.
 * @throws GrantError when PUBLIC, or a role that it belongs to or can become, grants more
 */
async function requireNothingElse(client: Client, role: string): Promise<void> {
  const { rows } = await client.query<{ right: string }>(
    `with able as (select oid as role from pg_roles where pg_has_role($1, oid, 'member')),
     own as (select oid from pg_roles where rolname = $1)
     select privilege || ' on ' || relname as right
     from pg_class cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references',
       'trigger']) privilege
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
       and exists (select from able where has_table_privilege(role, pg_class.oid, privilege))
       and not exists (
         select from aclexplode(relacl)
         where grantee in (select oid from own) and grantor = relowner and privilege_type = upper(privilege))
     union all
     select privilege || ' (' || attname || ') on ' || relname from pg_class
     join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     cross join unnest(array['insert', 'update', 'references']) privilege
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f')
       and exists (select from able where has_column_privilege(role, pg_class.oid, attnum, privilege))
       and not exists (select from able where has_table_privilege(role, pg_class.oid, privilege))
       and not exists (
         select from aclexplode(attacl)
         where grantee in (select oid from own) and grantor = relowner and privilege_type = upper(privilege))
     union all
     select 'create in ' || nspname from pg_namespace
     where nspname !~ '^pg_' and exists (select from able
       where has_schema_privilege(role, pg_namespace.oid, 'create'))
     union all
     select privilege || ' on the database' from unnest(array['create', 'temporary']) privilege
     where exists (select from able where has_database_privilege(role, current_database(), privilege))
     union all
     select 'execute ' || proname from pg_proc
     where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
       and exists (select from able where has_function_privilege(role, pg_proc.oid, 'execute'))
       and not exists (
         select from aclexplode(proacl) where grantee in (select oid from own) and grantor = proowner)`,
    [role],
  );
  if (rows.length === 0) return;
  const rights = rows
    .map(({ right }) => right)
    .sort()
    .join(", ");
  throw new GrantError(
    `${role} could still ${rights}, through PUBLIC or a role that it belongs to; ` +
      "revoke that, or run this as the owner of the database",
  );
}

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
