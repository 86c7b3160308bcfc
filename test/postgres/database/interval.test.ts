import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Leases } from "../../../src/postgres/ledger/leases.ts";
import { Sweeper } from "../../../src/postgres/ledger/sweeper.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { openCuttingProxy, type CuttingProxy } from "./cutting-proxy.ts";

/** Heartbeats and sweeps run every 10 ms; hanging queries time out after 300 ms. */
const [LEASE_MS, HANGS_MS] = [30, 300];

let database: TestDatabase;
let proxy: CuttingProxy;
let pool: Pool;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await openCuttingProxy(database.url);
  pool = new Pool({
    connectionString: proxy.url,
    query_timeout: HANGS_MS,
    connectionTimeoutMillis: HANGS_MS,
  });
  pool.on("error", () => {});
  // The connection may still be closing when the database is dropped.
  pool.on("connect", (client) => client.on("error", () => {}));
  await pool.query("select");
  proxy.freeze();
});
afterAll(async () => {
  await proxy.close();
  await pool.end();
  await database.drop();
});

const PARTS = [
  { name: "leases", Part: Leases },
  { name: "sweep", Part: Sweeper },
] as const;

it.each(PARTS)("the $name skips the runs it missed while the database hung", async ({ Part }) => {
  let failures = 0;
  const log = { info: () => {}, warn: () => failures++, error: () => {} };
  const part = new Part({ pool, instanceId: randomUUID(), leases: { runIds: [] }, leaseMs: LEASE_MS, log });
  if (part instanceof Leases) part.add(randomUUID());
  part.start();
  await expect.poll(() => failures).toBeGreaterThanOrEqual(2);
  const before = failures;
  await part.stop();
  expect(failures - before).toBeLessThanOrEqual(1);
});
