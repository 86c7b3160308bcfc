import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { afterAll, expect, it } from "vitest";
import { Leases, Sweeper } from "../../../src/postgres/ledger/leases.ts";
import { openDatabase } from "../../support/postgres.ts";
import { until } from "../../support/until.ts";
import { openCuttingProxy } from "./cutting-proxy.ts";
import { silent } from "../fixture.ts";

/** Heartbeats and sweeps run every 10 ms; hanging queries time out after 300 ms. */
const [LEASE_MS, HANGS_MS] = [30, 300];

const database = await openDatabase();
const proxy = await openCuttingProxy(database.url);
const pool = new Pool({
  connectionString: proxy.url,
  query_timeout: HANGS_MS,
  connectionTimeoutMillis: HANGS_MS,
});
pool.on("error", () => {});
// The connection may still be closing when the database is dropped.
pool.on("connect", (client) => client.on("error", () => {}));
// On a busy machine, the first connections may take too long.
await until(() => pool.query("select"));
proxy.freeze();
afterAll(async () => {
  await proxy.close();
  await pool.end();
});

const PARTS = [
  { name: "leases", Part: Leases },
  { name: "sweep", Part: Sweeper },
] as const;

it.each(PARTS)("the $name skips the runs it missed while the database hung", async ({ Part }) => {
  let failures = 0;
  const log = { ...silent, warn: () => failures++ };
  const part = new Part({ pool, instanceId: randomUUID(), leases: { runIds: [] }, leaseMs: LEASE_MS, log });
  if (part instanceof Leases) part.add(randomUUID());
  part.start();
  await expect.poll(() => failures).toBeGreaterThanOrEqual(2);
  const before = failures;
  await part.stop();
  expect(failures - before).toBeLessThanOrEqual(1);
});
