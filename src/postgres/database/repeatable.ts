import { DatabaseError, escapeIdentifier, type Client } from "pg";
import { identityOf } from "./primary.ts";
import type { SchemaState, SqlFile, SqlSchema } from "./sql-files.ts";

/** "create or replace" cannot change a function's result or a view's columns (PostgreSQL appendix A). */
const NOT_REPLACEABLE = new Set(["42P13", "42P16"]);

/**
 * Applies the pending views, functions, triggers and grants in one transaction, with what depends on them.
 * @param lockTimeoutMs longest wait for a lock of a table
 * @returns the paths of the applied files
 */
export async function applyRepeatable(
  client: Client,
  schema: SqlSchema,
  state: SchemaState,
  lockTimeoutMs: number,
): Promise<string[]> {
  await client.query("begin");
  try {
    await client.query("select set_config('lock_timeout', $1, true)", [String(lockTimeoutMs)]);
    // Functions may call each other: their bodies are checked once all exist.
    await client.query("set local check_function_bodies = off");
    const roles = await servingRoles(client);
    const applied = await applyAll(client, schema, state);
    for (const path of state.removed) await remove(client, path);
    await checkBodies(client);
    for (const role of roles) await grantTo(client, schema, role);
    const { cluster } = await identityOf(client);
    await client.query(
      "insert into schema_version (version, cluster) values ($1, $2) on conflict do nothing",
      [schema.version, cluster],
    );
    await client.query("commit");
    return applied;
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** Runs the files under sql/grants for a role. What else it could do is revoked. */
export async function grantTo(client: Client, schema: SqlSchema, role: string): Promise<void> {
  const name = escapeIdentifier(role);
  for (const { text } of schema.repeatable.filter(({ folder }) => folder === "grants"))
    await client.query(text.replaceAll(":role", () => name));
}

async function applyAll(client: Client, schema: SqlSchema, state: SchemaState): Promise<string[]> {
  const applied: string[] = [];
  let files = schema.repeatable.filter((file) => state.pending.includes(file));
  while (files.length > 0) {
    for (const file of files) {
      if (file.folder !== "grants") await apply(client, file);
      await record(client, file);
      applied.push(file.path);
    }
    // Objects dropped together with a function or view.
    const present = await installedObjects(client);
    files = schema.repeatable.filter(
      (file) => file.folder !== "grants" && !present.has(file.path) && !applied.includes(file.path),
    );
  }
  return applied;
}

async function apply(client: Client, file: SqlFile): Promise<void> {
  const before = await overloads(client, file.name);
  await client.query("savepoint file");
  try {
    await client.query(file.text);
  } catch (error) {
    if (!(error instanceof DatabaseError && NOT_REPLACEABLE.has(error.code ?? ""))) throw error;
    await client.query("rollback to file");
    await remove(client, file.path);
    await client.query(file.text);
  }
  const after = await overloads(client, file.name);
  // With other parameters it is another function: a name has one.
  if (after.some((one) => !before.includes(one)))
    for (const old of after.filter((one) => before.includes(one))) await dropFunction(client, old);
  // PostgreSQL lets every role execute a new function.
  if (file.folder === "functions")
    await client.query(`revoke execute on function ${escapeIdentifier(file.name)} from public`);
}

async function record(client: Client, { path, checksum }: SqlFile): Promise<void> {
  await client.query(
    `insert into schema_file (name, checksum) values ($1, $2)
     on conflict (name) do update set checksum = excluded.checksum, applied_at = excluded.applied_at`,
    [path, checksum],
  );
}

async function remove(client: Client, path: string): Promise<void> {
  const [folder, name = ""] = path.split("/");
  if (folder === "views") await client.query(`drop view if exists ${escapeIdentifier(name)} cascade`);
  else for (const one of await overloads(client, name)) await dropFunction(client, one);
  await client.query("delete from schema_file where name = $1", [path]);
}

/** @param signature as PostgreSQL writes it */
async function dropFunction(client: Client, signature: string): Promise<void> {
  await client.query(`drop function if exists ${signature} cascade`);
}

async function overloads(client: Client, name: string): Promise<string[]> {
  const { rows } = await client.query<{ signature: string }>(
    `select oid::regprocedure::text as signature from pg_proc
     where pronamespace = 'public'::regnamespace and proname = $1`,
    [name],
  );
  return rows.map(({ signature }) => signature);
}

async function installedObjects(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ path: string }>(
    `select case prorettype when 'trigger'::regtype then 'triggers/' else 'functions/' end || proname as path
     from pg_proc where pronamespace = 'public'::regnamespace
     union all
     select 'views/' || relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'v'`,
  );
  return new Set(rows.map(({ path }) => path));
}

/** @throws DatabaseError for a function whose body cannot be right */
async function checkBodies(client: Client): Promise<void> {
  await client.query("set local check_function_bodies = on");
  await client.query(
    `select case lanname when 'sql' then fmgr_sql_validator(pg_proc.oid)
        else plpgsql_validator(pg_proc.oid) end
     from pg_proc join pg_language on pg_language.oid = prolang
     where pronamespace = 'public'::regnamespace and lanname in ('sql', 'plpgsql')`,
  );
}

/**
 * The roles with the grants of `serve`: those that may execute a function that runs with its owner's rights.
 */
async function servingRoles(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    `select distinct rolname as role
     from pg_proc cross join lateral aclexplode(proacl) join pg_roles on pg_roles.oid = grantee
     where pronamespace = 'public'::regnamespace and prosecdef and grantee <> proowner`,
  );
  return rows.map(({ role }) => role);
}
