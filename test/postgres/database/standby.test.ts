import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { queryWithRetry } from "../../../src/postgres/database/retry.ts";
import { clientFor } from "../../../src/postgres/database/server.ts";
import { Standby } from "../../../src/postgres/database/standby.ts";
import { query } from "../../support/database-server.ts";
import { startServerPair, type ServerPair } from "../../support/standby.ts";

let pair: ServerPair;
/** Both servers, the standby first. */
let both: string;
const open: { end(): Promise<unknown> }[] = [];

beforeAll(async () => {
  pair = await startServerPair();
  both = pair.primary.url.replace(/@[^/]+/, `@127.0.0.1:${pair.standby.port},127.0.0.1:${pair.primary.port}`);
  await query(pair.primary.url, "create table note (text text)");
});

afterAll(async () => {
  await Promise.allSettled(open.map((one) => one.end()));
  await pair.close();
});

const portOf = async (pool: Pool) =>
  (await pool.query<{ port: number }>("select inet_server_port() as port")).rows[0]?.port;

describe("reads on a standby", () => {
  const lines: string[] = [];
  const log = { info: note, warn: note, error: note };
  function note(_: object, message: string) {
    lines.push(message);
  }
  let standby: Standby;

  beforeAll(() => {
    const options = { max: 2, applicationName: "test", log };
    standby = new Standby({ url: pair.primary.url, readUrl: pair.standby.url, ...options });
    open.push({ end: () => standby.close() });
  });

  it("reads from the primary until the standby has proved that it is fresh", async () => {
    expect(await portOf(standby.pool)).toBe(pair.primary.port);
    expect(standby.url).toBe(pair.primary.url);
    standby.start();
    await expect.poll(() => portOf(standby.pool)).toBe(pair.standby.port);
    await expect.poll(() => standby.url).toBe(pair.standby.url);
  });

  it("stays on a standby that has nothing to replay", async () => {
    await query(pair.primary.url, "insert into note values ('fresh')");
    await expect.poll(async () => (await standby.pool.query("select from note")).rowCount).toBe(1);
    await expect.poll(() => portOf(standby.pool)).toBe(pair.standby.port);
  });

  it("reads from the primary while the standby lags, and from the standby afterwards", async () => {
    await query(pair.standby.url, "select pg_wal_replay_pause()");
    await query(pair.primary.url, "insert into note values ('late')");
    await expect.poll(() => portOf(standby.pool)).toBe(pair.primary.port);
    // The next check logs it.
    await expect.poll(() => lines.at(-1)).toBe("the standby lags or is unreachable: reading the primary");
    await query(pair.standby.url, "select pg_wal_replay_resume()");
    await expect.poll(() => portOf(standby.pool)).toBe(pair.standby.port);
    await expect.poll(() => lines.at(-1)).toBe("long reads use the standby");
  });
});

describe("a URL of several servers", () => {
  let pool: Pool;
  const write = () =>
    queryWithRetry(pool, { text: "insert into note values ('paid') returning text" }, 60_000);

  beforeAll(() => {
    pool = openPool(`${both}?target_session_attrs=read-write`, { max: 3, applicationName: "test" });
    open.push(pool);
  });

  it("connects to the primary, whichever place it has", async () => {
    expect(await Promise.all([write(), write(), write()])).toHaveLength(3);
    expect(await portOf(pool)).toBe(pair.primary.port);
  });

  it("connects to the primary at the first attempt", async () => {
    const client = clientFor(`${both}?application_name=first`);
    await client.connect();
    open.push(client);
    expect(client.port).toBe(pair.primary.port);
  });

  it("refuses a standby that is the only server left", async () => {
    const client = clientFor(
      pair.primary.url.replace(/@[^/]+/, `@127.0.0.1:${pair.standby.port},127.0.0.1:1`),
    );
    client.on("error", () => {});
    await expect(client.connect()).rejects.toMatchObject({ code: "25006" });
  });

  it("drops every connection when a server accepts no more writes", async () => {
    const idle = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    for (const client of idle) client.release();
    expect(pool.idleCount).toBe(3);
    await expect(
      pool.query("set transaction_read_only = on; insert into note values ('refused')"),
    ).rejects.toMatchObject({ code: "25006" });
    expect(pool.totalCount).toBe(0);
    expect(await write()).toHaveLength(1);
  });

  it("takes a standby's refusal of an unlogged table for a refused write", async () => {
    await query(pair.primary.url, "create unlogged table bucket (tokens integer)");
    const standby = openPool(pair.standby.url, { max: 1, applicationName: "test" });
    open.push(standby);
    const readable = () =>
      query(pair.standby.url, "select 'bucket'::regclass").then(
        () => true,
        () => false,
      );
    await expect.poll(readable).toBe(true);
    await expect(queryWithRetry(standby, { text: "select from bucket" }, 0)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("takes no writes"),
    });
  });

  it("writes to the standby once it has been promoted", async () => {
    await pair.primary.stop();
    const written = write();
    await query(pair.standby.url, "select pg_promote()");
    expect(await written).toEqual([{ text: "paid" }]);
    expect(await portOf(pool)).toBe(pair.standby.port);
  });
});
