import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { grantServing } from "../../src/postgres/database/grants.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { createTestDatabase, servingUrl, type TestDatabase } from "../support/postgres.ts";
import { SERVING } from "../support/template.ts";

const DENIED =
  /^(permission denied|must be (owner|superuser|member)|only roles with|cannot set|.* is append-only)/;
const UNKNOWN = "00000000-0000-7000-8000-000000000001";
const BYTES = (length: number) => `'\\x${"ab".repeat(length)}'::bytea`;

let database: TestDatabase;
let serving: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase();
  await grantServing(database.url, SERVING.role);
  serving = new pg.Client({ connectionString: database.servingUrl });
  await serving.connect();
});
afterAll(async () => {
  await serving.end();
  await database.drop();
});

/** Returns the database error for a statement of the serving role; undefined when it succeeds. */
async function refusal(statement: string): Promise<string | undefined> {
  await serving.query("begin");
  try {
    await serving.query(statement);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await serving.query("rollback");
  }
}

/** Every table of the schema, so that new tables are checked too. */
async function tables(): Promise<{ name: string; column: string }[]> {
  const { rows } = await query(
    database.url,
    `select relname as name, (select quote_ident(attname) from pg_attribute where attrelid = pg_class.oid
        and attnum = 1) as column
     from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`,
  );
  return rows as { name: string; column: string }[];
}

/**
 * Inserts allowed without functions: accounts without a balance, keys, the audit's progress, console
 * sign-ins, sign-ins of hosts, operator actions, the log of requests, and webhook endpoints with their log.
 */
const MAY_INSERT = [
  ...[
    "account",
    "api_key",
    "api_key_secret",
    "audit_progress",
    "budget",
    "console_session",
    "deposit",
    "job_run",
    "key_use",
    "oauth_grant",
    "oauth_record",
    "operator_action",
  ],
  ...[
    "request_log",
    "run_model",
    "sealing_key",
    "sign_in_challenge",
    "signing_key",
    "usage_slot",
    "used_nonce",
  ],
  ...["webhook_attempt", "webhook_endpoint"],
];

/** Expired rows are deleted; a role that may delete may also lock the table. */
const MAY_DELETE = [
  "budget",
  ...["console_session", "oauth_record", "request_log", "sign_in_challenge", "used_nonce"],
  ...["webhook_attempt", "webhook_delivery", "webhook_endpoint", "webhook_event"],
];

describe("the role that gateways serve with", () => {
  it("cannot change, truncate or lock any table", async () => {
    const all = await tables();
    expect(all.length).toBeGreaterThan(10);
    for (const { name, column } of all) {
      const whole = [`delete from ${name}`, `lock table ${name} in access exclusive mode`];
      for (const statement of [
        ...(MAY_DELETE.includes(name) ? [] : whole),
        `update ${name} set ${column} = ${column}`,
        `truncate ${name}`,
        `alter table ${name} disable trigger all`,
        `alter table ${name} add column mine text`,
        `alter table ${name} owner to ${SERVING.role}`,
        `drop table ${name} cascade`,
        `copy ${name} to program 'cat'`,
        `create index on ${name} (${column})`,
        `create trigger mine before insert on ${name} for each row execute function refuse_change()`,
        `comment on table ${name} is 'mine'`,
      ]) {
        expect(await refusal(statement), statement).toMatch(/denied|must be owner|cannot/);
      }
    }
  });

  it("inserts into listed tables only, and never a balance", async () => {
    for (const { name } of await tables()) {
      if (MAY_INSERT.includes(name)) continue;
      const statement = `insert into ${name} default values`;
      expect(await refusal(statement), statement).toMatch(DENIED);
    }
    const inserts = await query(
      database.url,
      `select distinct table_name::text as name from information_schema.column_privileges
       where grantee = '${SERVING.role}' and privilege_type = 'INSERT' order by 1`,
    );
    expect(inserts.rows.map(({ name }: { name: string }) => name)).toEqual(MAY_INSERT);
    const account = (columns: string, values: string) =>
      `insert into account (id, wallet, tier${columns})
        values (gen_random_uuid(), 'w', 'default'${values})`;
    expect(await refusal(account("", ""))).toBeUndefined();
    expect(await refusal(account(", available", ", 1000000"))).toMatch(DENIED);
  });

  it.each([
    ["append-only tables and balances", `update account set available = 1000000`],
    ["append-only tables and balances", `update account set wallet = 'mine'`],
    ["append-only tables and balances", `update transfer set amount = 1`],
    [
      "append-only tables and balances",
      `insert into transfer (debit, credit, amount, kind, ref)
        values ('${UNKNOWN}', '${UNKNOWN}', 1, 'deposit', ${BYTES(64)})`,
    ],
    ["append-only tables and balances", `update payment set amount = 1, account_id = '${UNKNOWN}'`],
    ["append-only tables and balances", `update run set status = 'completed'`],
    ["append-only tables and balances", `insert into treasury_movement default values`],
    ["keys", `update api_key set sha256 = ${BYTES(32)}`],
    ["keys", `update api_key set account_id = '${UNKNOWN}'`],
    ["keys", `update api_key set scopes = '{billing:write}'`],
    ["keys", `delete from api_key`],
    ["keys", `update sealing_key set secret = ${BYTES(32)}`],
    ["the migrations", `insert into migration (name) values ('9999')`],
    ["functions that others call", `select ledger_release(array['${UNKNOWN}'::uuid])`],
    ["functions that others call", `select ledger_lock_claims(array['${UNKNOWN}'::uuid])`],
    ["functions that others call", `select * from ledger_lookup('{}', '${UNKNOWN}')`],
    ["the schema", `create table mine (x int)`],
    ["the schema", `create view mine as select 1`],
    ["the schema", `create schema mine`],
    ["the schema", `create type mine as enum ('a')`],
    ["the schema", `create temporary table mine (x int)`],
    ["the schema", `create function mine() returns int language sql as 'select 1'`],
    [
      "the schema",
      `create or replace function refuse_change() returns trigger language plpgsql as
        'begin return new; end'`,
    ],
    ["the schema", `alter function refuse_change() rename to mine`],
    ["the schema", `drop function refuse_change() cascade`],
    ["the schema", `alter function ledger_adjust security invoker`],
    ["the schema", `create extension file_fdw`],
    ["the schema", `create trusted language plperlu`],
    ["the database", `alter database $db set session_replication_role = replica`],
    ["the database", `drop database $db`],
    ["the database", `create database mine`],
    ["the server", `set session_replication_role = replica`],
    ["the server", `set role postgres`],
    ["the server", `set session authorization postgres`],
    ["the server", `reset session authorization; set role postgres`],
    ["the server", `create role mine superuser`],
    ["the server", `alter role ${SERVING.role} superuser`],
    ["the server", `grant pg_read_server_files to ${SERVING.role}`],
    ["the server", `alter system set fsync = off`],
    ["the server", `select pg_reload_conf()`],
    ["the server", `select * from pg_authid`],
    ["files and programs", `select pg_read_file('/etc/passwd')`],
    ["files and programs", `select pg_read_binary_file('postgresql.conf')`],
    ["files and programs", `select pg_ls_dir('/')`],
    ["files and programs", `copy account (wallet) from '/etc/passwd'`],
    ["files and programs", `copy (select 1) to '/tmp/mine'`],
    ["files and programs", `copy (select 1) to program 'id'`],
    ["files and programs", `select lo_import('/etc/passwd')`],
  ])("cannot %s: %s", async (_, statement) => {
    const name = new URL(database.url).pathname.slice(1);
    const said = await refusal(statement.replace("$db", name));
    expect(said).toMatch(
      /denied|must be|cannot|not allowed|does not exist|not available|inside a transaction/,
    );
  });

  it("cannot redirect ledger functions to its own tables", async () => {
    const said = await refusal(
      `set search_path = pg_temp, public; create temporary table account (id uuid, available bigint)`,
    );
    expect(said).toMatch(DENIED);
  });

  it("reads only the tables that serving needs", async () => {
    const { rows } = await query(
      database.url,
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace
          and relkind in ('r', 'p', 'v') and not relispartition
       and not has_table_privilege('${SERVING.role}', oid, 'select') order by 1`,
    );
    expect(rows.map(({ name }: { name: string }) => name)).toEqual(["rate_bucket"]);
  });
});

describe("migrate --grant-to", () => {
  const NEARLY = /is a superuser or nearly one/;
  const name = () => `role_${randomBytes(6).toString("hex")}`;

  /** Creates a role and a database and drops them afterwards. */
  async function withRole(attributes: string, use: (role: string) => Promise<void>): Promise<void> {
    const role = name();
    await query(database.url, `create role ${role} ${attributes}`);
    try {
      await use(role);
    } finally {
      await query(
        database.url,
        `reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`,
      );
    }
  }

  async function grantTo(role: string, url = database.url): Promise<{ exitCode: unknown; output: string }> {
    const command = ["migrate", "--grant-to", role, "--json"];
    const { code, stdout, stderr } = await runToolgateHere({ DATABASE_URL: url }, command);
    return { exitCode: code, output: stdout + stderr };
  }

  it("grants the same rights when repeated and revokes others", async () => {
    await withRole("login password 'hush'", async (role) => {
      const rights = async () =>
        (
          await query(
            database.url,
            `select table_name, column_name, privilege_type from information_schema.column_privileges
              where grantee = '${role}' order by 1, 2, 3`,
          )
        ).rows;
      expect(await grantTo(role)).toEqual({ exitCode: 0, output: `{"applied":[],"granted_to":"${role}"}\n` });
      const first = await rights();
      expect(first.length).toBeGreaterThan(20);
      await query(
        database.url,
        `grant all on all tables in schema public to ${role}; grant update (available) on account to ${role};
         grant create on schema public to ${role}; grant all on all functions in schema public to ${role}`,
      );
      expect(await rights()).not.toEqual(first);
      await grantTo(role);
      expect(await rights()).toEqual(first);
    });
  });

  it.each([
    ["a superuser", "login superuser", /is a superuser/],
    ["one that may make roles", "login createrole", NEARLY],
    ["one that passes by row security", "login bypassrls", NEARLY],
    ["a member of those that write all data", "login in role pg_write_all_data", NEARLY],
    ["a member of those that run programs", "login in role pg_execute_server_program", NEARLY],
  ])("rejects %s and changes nothing", async (_, attributes, says) => {
    await withRole(attributes, async (role) => {
      const { exitCode, output } = await grantTo(role);
      expect([exitCode, output]).toEqual([1, expect.stringMatching(says)]);
      const { rowCount } = await query(
        database.url,
        `select from information_schema.role_table_grants where grantee = '${role}'`,
      );
      expect(rowCount).toBe(0);
    });
  });

  it("rejects table owners, their members, and roles with write access through PUBLIC or membership", async () => {
    await withRole("login", async (owner) => {
      await query(database.url, `create table theirs (x int); alter table theirs owner to ${owner}`);
      expect((await grantTo(owner)).output).toMatch(/owns tables of this database/);
      await withRole(`login in role ${owner}`, async (member) => {
        expect((await grantTo(member)).output).toMatch(/is a member of their owner/);
      });
      await query(database.url, "drop table theirs");
    });
    await withRole("nologin", async (group) => {
      await query(database.url, `grant delete on receipt to ${group}`);
      await withRole(`login in role ${group}`, async (member) => {
        expect((await grantTo(member)).output).toMatch(
          /could still delete on receipt, through PUBLIC or a role/,
        );
      });
      // The role has the right after: set role.
      await withRole(`login noinherit in role ${group}`, async (member) => {
        expect((await grantTo(member)).output).toMatch(
          /could still delete on receipt, through PUBLIC or a role/,
        );
      });
    });
    await query(database.url, "grant update on run to public");
    expect((await grantTo(SERVING.role)).output).toMatch(/could still update on run/);
    await query(database.url, "revoke update on run from public");
  });

  it("rejects roles with write access to other columns through PUBLIC or membership", async () => {
    await query(
      database.url,
      `grant insert (id, wallet), update (burst) on account to public; grant select (amount)
        on transfer to public`,
    );
    expect((await grantTo(SERVING.role)).exitCode).toBe(0);
    await withRole("nologin", async (group) => {
      await query(database.url, `grant insert (debit), references (id) on transfer to ${group}`);
      await withRole(`login in role ${group}`, async (member) => {
        const { exitCode, output } = await grantTo(member);
        expect(exitCode).toBe(1);
        expect(output).toMatch(
          /could still insert \(debit\) on transfer, references \(id\) on transfer, through PUBLIC/,
        );
      });
    });
    await query(database.url, "grant update (available, wallet), insert (available) on account to public");
    const { exitCode, output } = await grantTo(SERVING.role);
    await query(database.url, "revoke all on account, transfer from public");
    expect(exitCode).toBe(1);
    for (const right of [
      "insert (available) on account",
      "update (available) on account",
      "update (wallet) on account",
    ])
      expect(output).toContain(right);
    expect(output).not.toMatch(/burst|\(id\)/);
  });

  it("explains a missing role and missing rights", async () => {
    expect(await grantTo("nobody_at_all")).toEqual({
      exitCode: 1,
      output:
        "--grant-to: there is no role nobody_at_all; create it first: create role … login password '…'\n",
    });
    await withRole("login", async (role) => {
      const { exitCode, output } = await grantTo(role, servingUrl(database.url));
      expect([exitCode, output]).toEqual([1, expect.stringMatching(/must own the database/)]);
    });
  });

  it("quotes any role name", async () => {
    const role = `x"; drop table account; --${randomBytes(3).toString("hex")}`;
    await query(database.url, `create role ${pg.escapeIdentifier(role)} login`);
    expect((await grantTo(role)).exitCode).toBe(0);
    await query(
      database.url,
      `drop owned by ${pg.escapeIdentifier(role)}; drop role ${pg.escapeIdentifier(role)}`,
    );
  });

  it("migrates an empty database before it grants", async () => {
    const server = inject("postgresUrl");
    const empty = name();
    await query(server, `create database ${empty}`);
    const url = databaseUrl(server, empty);
    try {
      expect((await grantTo(SERVING.role, url)).exitCode).toBe(0);
      expect(await migrate(url)).toEqual({ applied: [] });
      expect((await query(servingUrl(url), "select from account")).rowCount).toBe(0);
    } finally {
      await query(server, `drop database ${empty} with (force)`);
    }
  });
});
