import { Client, DatabaseError, escapeIdentifier } from "pg";
import { MIGRATION_LOCK } from "./migrate.ts";
import { WRITERS } from "./migrations/0012-rights.ts";
import { SANDBOX_WRITERS } from "./migrations/0013-sandbox.ts";
import { RELAY_WRITERS } from "./migrations/0014-relays.ts";
import { OPERATIONS_WRITERS } from "./migrations/0018-operations.ts";
import { RETENTION_WRITERS } from "./migrations/0020-retention.ts";
import { UNPAID_WORK_WRITERS } from "./migrations/0032-unpaid-work.ts";

/** SQLSTATE. */
const INSUFFICIENT_PRIVILEGE = "42501";

/** What `serve` reads. */
const READ = [
  "account",
  "api_key",
  "api_key_secret",
  "console_session",
  "deposit",
  "hold",
  "idempotency",
  "issued_receipt",
  "key_budget",
  "key_use",
  "leadership",
  "migration",
  "operator_action",
  "payment",
  "receipt",
  "relay",
  "relay_budget",
  "revenue_mark",
  "run",
  "sandbox_run",
  "sealing_key",
  "sign_in_challenge",
  "transfer",
  "treasury_movement",
  "treasury_watch",
  "unpaid_work",
] as const;

/** What `serve` writes through. */
export const EXECUTED = [
  ...WRITERS,
  ...SANDBOX_WRITERS,
  ...RELAY_WRITERS,
  ...OPERATIONS_WRITERS,
  ...RETENTION_WRITERS,
  ...UNPAID_WORK_WRITERS,
];

/** What is made and changed without a function: accounts without a balance, keys, what people and operators decide about them, and sign-ins. */
const WRITTEN = [
  ...ofColumns("insert", "account", ["id", "wallet", "rate_per_minute", "burst", "operator", "created_at"]),
  ...ofColumns("update", "account", ["account_rate_per_minute", "account_burst"]),
  ...ofColumns("update", "account", [
    "rate_per_minute",
    "burst",
    "operator",
    "low_balance",
    "blocked_reason",
  ]),
  ...ofColumns("insert", "api_key", ["id", "account_id", "sha256", "prefix", "name", "scopes", "created_at"]),
  ...ofColumns("insert", "api_key", [
    "expires_at",
    "call_limit",
    "day_limit",
    "tools",
    "budget_id",
    "secret_version",
  ]),
  ...ofColumns("update", "api_key", ["revoked_at", "expires_at", "replaced_by"]),
  ...ofColumns("insert", "key_use", ["key_id", "last_used_at"]),
  ...ofColumns("update", "key_use", ["last_used_at"]),
  ...ofColumns("insert", "sign_in_challenge", ["nonce", "input", "created_at", "expires_at"]),
  "delete on sign_in_challenge",
  ...ofColumns("insert", "console_session", ["id", "account_id", "sha256", "address", "user_agent"]),
  ...ofColumns("insert", "console_session", ["created_at", "last_used_at", "expires_at"]),
  ...ofColumns("update", "console_session", ["last_used_at"]),
  "delete on console_session",
  ...ofColumns("insert", "deposit", [
    "id",
    "account_id",
    "amount",
    "reference",
    "tx_signature",
    "created_at",
  ]),
  ...ofColumns("update", "deposit", ["tx_signature"]),
  ...ofColumns("insert", "operator_action", [
    "id",
    "at",
    "account_id",
    "actor",
    "action",
    "target",
    "details",
  ]),
  ...ofColumns("insert", "operator_action", ["failed_action", "failure", "once", "repeats"]),
  ...ofColumns("insert", "api_key_secret", ["version", "secret", "active_from"]),
  ...ofColumns("insert", "sealing_key", ["version", "secret", "active_from"]),
];

function ofColumns(privilege: string, table: string, columns: readonly string[]): string[] {
  return columns.map((column) => `${privilege} (${column}) on ${table}`);
}

/** A role that cannot be one to serve with; the message says why and what to do. */
export class GrantError extends Error {
  override name = "GrantError";
}

/**
 * Gives a role exactly what `serve` needs on the current schema, and takes everything else away, in one transaction, so that a
 * gateway that is at work does not notice. What every role may do by default (temporary tables) is taken from all of them.
 * @param databaseUrl with the rights of the schema's owner
 * @throws GrantError for a role that does not exist, or that would still be able to do more
 */
export async function grantServing(databaseUrl: string, role: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    await client.query("begin");
    await refuseMighty(client, role);
    await grant(client, role);
    await refuseLeftover(client, role);
    await client.query("commit");
  } catch (error) {
    throw error instanceof DatabaseError && error.code === INSUFFICIENT_PRIVILEGE
      ? new GrantError(
          `DATABASE_URL's role must own the database and its tables to grant them (${error.message})`,
        )
      : error;
  } finally {
    // Ends the transaction and the lock, whatever happened.
    await client.end();
  }
}

/** @throws GrantError for a role that no grant can bind */
async function refuseMighty(client: Client, role: string): Promise<void> {
  const { rows } = await client.query<{ mighty: boolean; owner: boolean; database: boolean }>(
    `select
       exists (
         select from pg_roles other where pg_has_role(role.oid, other.oid, 'member') and (
           other.rolsuper or other.rolcreaterole or other.rolreplication or other.rolbypassrls
           or other.rolname = any (array['pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program', 'pg_maintain']))
       ) as mighty,
       exists (
         select from pg_class where relnamespace = 'public'::regnamespace and pg_has_role(role.oid, relowner, 'member')
       ) or exists (
         select from pg_proc where pronamespace = 'public'::regnamespace and pg_has_role(role.oid, proowner, 'member')
       ) as owner,
       exists (
         select from pg_database where datname = current_database() and pg_has_role(role.oid, datdba, 'member')
       ) as database
     from pg_roles role where role.rolname = $1`,
    [role],
  );
  const [found] = rows;
  if (!found)
    throw new GrantError(`there is no role ${role}; make it first: create role … login password '…'`);
  const advice = "serve with a role of its own, made with: create role … login password '…'";
  if (found.mighty)
    throw new GrantError(`${role} is a superuser or nearly one, which no grant can bind; ${advice}`);
  if (found.owner)
    throw new GrantError(`${role} owns tables of this database, or belongs to their owner; ${advice}`);
  if (found.database) throw new GrantError(`${role} owns this database; ${advice}`);
}

async function grant(client: Client, role: string): Promise<void> {
  const { rows } = await client.query<{ database: string }>("select current_database() as database");
  const [name, database] = [escapeIdentifier(role), escapeIdentifier(rows[0]?.database ?? "")];
  const statements = [
    `revoke all on all tables in schema public from ${name}`,
    `revoke all on all sequences in schema public from ${name}`,
    `revoke all on all routines in schema public from ${name}`,
    `revoke all on schema public from ${name}`,
    `revoke create on schema public from public`,
    `revoke create, temporary on database ${database} from public, ${name}`,
    `grant connect on database ${database} to ${name}`,
    `grant usage on schema public to ${name}`,
    `grant select on ${READ.join(", ")} to ${name}`,
    ...WRITTEN.map((rights) => `grant ${rights} to ${name}`),
    `grant execute on function ${EXECUTED.join(", ")} to ${name}`,
  ];
  for (const statement of statements) await client.query(statement);
}

/** @throws GrantError when something else still lets the role do more: PUBLIC, or a role that it belongs to or can become */
async function refuseLeftover(client: Client, role: string): Promise<void> {
  const { rows } = await client.query<{ right: string }>(
    `with able as (select oid as role from pg_roles where pg_has_role($1, oid, 'member'))
     select privilege || ' on ' || relname as right
     from pg_class cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) privilege
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') and not privilege || ' on ' || relname = any ($3)
       and exists (select from able where has_table_privilege(role, pg_class.oid, privilege))
     union all
     select writing.right from pg_class
     join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
     cross join unnest(array['insert', 'update', 'references']) privilege
     cross join lateral (select privilege || ' (' || attname || ') on ' || relname as right) writing
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') and not writing.right = any ($3)
       and exists (select from able where has_column_privilege(role, pg_class.oid, attnum, privilege))
       and not exists (select from able where has_table_privilege(role, pg_class.oid, privilege))
     union all
     select 'create in ' || nspname from pg_namespace
     where nspname !~ '^pg_' and exists (select from able where has_schema_privilege(role, pg_namespace.oid, 'create'))
     union all
     select privilege || ' on the database' from unnest(array['create', 'temporary']) privilege
     where exists (select from able where has_database_privilege(role, current_database(), privilege))
     union all
     select 'execute ' || proname from pg_proc
     where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype and not proname = any ($2)
       and exists (select from able where has_function_privilege(role, pg_proc.oid, 'execute'))`,
    [role, EXECUTED, WRITTEN],
  );
  if (rows.length === 0) return;
  const rights = rows
    .map(({ right }) => right)
    .sort()
    .join(", ");
  throw new GrantError(
    `${role} could still ${rights}, through PUBLIC or a role that it belongs to; take that away, or run this as the owner of the database`,
  );
}
