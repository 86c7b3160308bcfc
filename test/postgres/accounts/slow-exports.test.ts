import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Pool } from "pg";
import { afterEach, describe, expect, it } from "vitest";
import type { StatementRow } from "../../../src/app/accounts/statements.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { PostgresStatements } from "../../../src/postgres/accounts/statement.ts";
import { statementFile } from "../../../src/transport/exports/statement-file.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { serveExports } from "../../transport/export-server.ts";
import { idOf } from "../fixture.ts";

const ROWS = 4_000;
const HELD =
  "select pid from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'";
const WHOLE = { from: undefined, to: undefined };

const database = await openDatabase();
const pool = closing(openPool(database.url, { max: 4, applicationName: "test" }));
const reading = closing(openPool(database.servingUrl, { max: 3, applicationName: "reading" }));
const secret = { version: 1, secret: Buffer.alloc(32, 1) };
const statements = new PostgresStatements(reading, { current: () => secret, version: () => secret });

const open: { close(): Promise<void> }[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

/** An account with adjustments of an hour ago, whose statement exceeds the socket buffers. */
async function account(rows = ROWS): Promise<string> {
  const accountId = idOf("acct");
  const id = uuidOf("acct", accountId);
  await pool.query("insert into account (id, wallet, rate_per_minute, burst) values ($1, $2, 60, 10)", [
    id,
    accountId,
  ]);
  await adjust(pool, accountId, rows, "1 hour");
  return accountId;
}

async function adjust(on: Pick<Pool, "query">, accountId: string, rows: number, ago = "0"): Promise<void> {
  await on.query(
    `insert into transfer (id, debit, credit, amount, kind, ref, note, created_at)
     select ledger_id(now() - $3::interval), gen_random_uuid(), $1, 1 + n, 'adjustment',
       uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), repeat('n', 1000), now() - $3::interval
     from generate_series(1, $2) n`,
    [uuidOf("acct", accountId), rows, ago],
  );
}

async function serve(accountId: string) {
  const server = await serveExports(accountId, [statementFile(statements)]);
  open.push(server);
  return server;
}

/** Reads the beginning of a statement only. */
async function stall(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  sockets.push(socket);
  socket.write("GET /console/export/statement.csv HTTP/1.1\r\nHost: x\r\n\r\n");
  const [head] = await once(socket, "data");
  expect(String(head)).toMatch(/^HTTP\/1\.1 200/);
  socket.pause();
}

async function savedIn(server: Awaited<ReturnType<typeof serve>>): Promise<{ lines: number; ms: number }> {
  const since = performance.now();
  const response = await server.get("/console/export/statement.csv");
  expect(response.status).toBe(200);
  const lines = (await response.text()).trimEnd().split("\r\n").length;
  return { lines, ms: performance.now() - since };
}

describe("stalled statement readers", () => {
  it("keep no transaction open and do not block other accounts", async () => {
    const [slow, other, quick] = [await account(), await account(), await account()];
    await pool.query("vacuum analyze transfer");
    const [slowServer, otherServer, quickServer] = [
      await serve(slow),
      await serve(other),
      await serve(quick),
    ];
    await savedIn(quickServer);
    const alone = await savedIn(quickServer);
    await Promise.all([stall(slowServer.port), stall(slowServer.port), stall(otherServer.port)]);
    await expect.poll(async () => (await pool.query(HELD)).rows).toEqual([]);
    // A busy machine adds to a single one.
    const beside = async () => {
      const { lines, ms } = await savedIn(quickServer);
      expect(lines).toBe(ROWS + 1);
      return ms / alone.ms;
    };
    await expect.poll(beside).toBeLessThan(5);
    expect((await pool.query(HELD)).rows).toEqual([]);
  });
});

describe("an export during new entries", () => {
  it("contains the entries and balances as of its start", async () => {
    const accountId = await account(1_200);
    await adjust(pool, accountId, 600);
    const late = await pool.connect();
    await late.query("begin");
    await adjust(late, accountId, 1);
    // With a later id, but committed before.
    await adjust(pool, accountId, 3);
    const expected = await pool.query<{ id: string; amount: bigint }>(
      "select id, amount from transfer where credit = $1 order by id",
      [uuidOf("acct", accountId)],
    );
    const { rows } = await statements.export(accountId, WHOLE);
    const all: StatementRow[] = [];
    for await (const page of rows) {
      if (all.length === 0) {
        await late.query("commit");
        late.release();
      }
      all.push(...page);
      await adjust(pool, accountId, 2);
    }
    let balance = 0n;
    expect(all.map(({ entryId, balance: after }) => [entryId, after])).toEqual(
      expected.rows.map(({ id, amount }) => [id, (balance += amount)]),
    );
    expect(all).toHaveLength(1_803);
  });

  it("continues after the database was unreachable between two pages", async () => {
    const accountId = await account(1_200);
    const { rows } = await statements.export(accountId, WHOLE);
    let read = 0;
    for await (const page of rows) {
      read += page.length;
      await pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reading'
          and datname = current_database()`,
      );
    }
    expect(read).toBe(1_200);
  });
});
