import { randomBytes } from "node:crypto";
import type { Pool } from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { openDatabaseLink, type DatabaseLink } from "../../support/database-link.ts";
import { query } from "../../support/database-server.ts";
import { startServerPair, type ServerPair } from "../../support/standby.ts";

let pair: ServerPair;
/** A proxy that follows the primary, and pools behind it. */
let link: DatabaseLink;
let [pool, other]: Pool[] = [];
/** A role of both clusters. */
const role = `visitor_${randomBytes(8).toString("hex")}`;

/** The port of the server that the pool reaches, or why it reaches none. */
async function reached(asked: Pool | undefined): Promise<number | string | undefined> {
  try {
    return (await asked?.query<{ port: number }>("select inet_server_port() as port"))?.rows[0]?.port;
  } catch (error) {
    return error instanceof Error ? error.message : undefined;
  }
}

beforeAll(async () => {
  pair = await startServerPair();
  const create = `create role ${role} login password '${role}'`;
  await Promise.all([pair.primary.url, inject("postgresUrl")].map((url) => query(url, create)));
  link = await openDatabaseLink(`postgresql://${role}:${role}@127.0.0.1:${pair.primary.port}/postgres`);
  [pool, other] = [3, 1].map((max) => openPool(link.url, { max, applicationName: "test" }));
});

afterAll(async () => {
  await Promise.all([pool?.end(), other?.end()]);
  await link.close();
  await pair.close();
  await query(inject("postgresUrl"), `drop role ${role}`);
});

it("refuses a server of another cluster", async () => {
  await expect.poll(() => reached(pool)).toBe(pair.primary.port);
  link.switchTo(Number(new URL(inject("postgresUrl")).port));
  await expect.poll(() => reached(other)).toBe("this is another database than before");
  link.switchTo(pair.primary.port);
  await expect.poll(() => reached(other)).toBe(pair.primary.port);
});

it("ends the connections to the old primary when a new one leads to its successor", async () => {
  const ended = pool?.query("select pg_sleep(60)").then(String, String);
  await expect.poll(() => pool?.idleCount).toBe(0);
  await query(pair.standby.url, "select pg_promote()");
  link.switchTo(pair.standby.port);
  await expect.poll(() => reached(pool)).toBe(pair.standby.port);
  expect(await ended).toContain("the primary has changed");
  await expect.poll(() => reached(other)).toBe(pair.standby.port);
});

it("refuses the old primary, which still accepts writes", async () => {
  link.switchTo(pair.primary.port);
  link.cut();
  link.mend();
  const refused = "this server was the primary until another one was promoted";
  let found: Awaited<ReturnType<typeof reached>>;
  await expect.poll(async () => (found = await reached(pool))).toBeOneOf([refused, pair.primary.port]);
  expect(found).toBe(refused);
  link.switchTo(pair.standby.port);
  await expect.poll(() => reached(pool)).toBe(pair.standby.port);
});
