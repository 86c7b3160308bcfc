import { afterAll, beforeAll, expect, it } from "vitest";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import { createLogger } from "../../src/log.ts";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { useLedger } from "../bench/grown-ledger.ts";
import { fillLedger } from "../postgres/large-ledger.ts";
import { query } from "../support/database-server.ts";
import { startServerPair, type ServerPair } from "../support/standby.ts";
import { until } from "../support/until.ts";
import { request, startGround, type Ground } from "../support/world.ts";

/** Pages of the API that are old enough to be complete on a standby. */

const [TRANSFERS, ACCOUNTS, PAGE] = [800, 2, 100];
const lines: { event?: unknown }[] = [];

let pair: ServerPair;
let ground: Ground;
let gateway: Gateway;
let key = "";

beforeAll(async () => {
  pair = await startServerPair();
  const { url } = pair.primary;
  await migrate(url);
  await fillLedger(url, TRANSFERS, ACCOUNTS);
  key = (await useLedger(url, TRANSFERS, ACCOUNTS)).keys[0] ?? "";
  ground = await startGround({ DATABASE_READ_URL: pair.standby.url }, url);
  const log = { ...createLogger("silent", { secrets: [] }), info: (line: object) => void lines.push(line) };
  gateway = await startGateway(requireServeConfig(readConfig(ground.settings)), log);
  await until(() => lines.some((line) => line.event === "standby_used"));
});
afterAll(async () => {
  await gateway.close();
  await ground.close();
  await pair.close();
});

const page = async (list: string, cursor?: string) => {
  const from = cursor === undefined ? "" : `&cursor=${cursor}`;
  const path = `/${list}?limit=${PAGE}${from}`;
  const answer = await request(
    gateway,
    undefined,
    path,
    { method: "GET" },
    { Authorization: `Bearer ${key}` },
  );
  expect(answer.status).toBe(200);
  return answer.body;
};

/** How often the standby has read the partitions of a table. */
const readsOf = async (table: string): Promise<number> => {
  const { rows } = await query(
    pair.standby.url,
    `select sum(seq_scan + coalesce(idx_scan, 0))::integer as reads from pg_stat_user_tables
      where relname ~ '^${table}_[0-9]'`,
  );
  return rows[0].reads;
};

it.each([
  ["receipts", "receipt"],
  ["runs", "run"],
])("reads old pages of /%s on the standby", async (list, table) => {
  const first = await page(list);
  expect(first.items).toHaveLength(PAGE);
  const before = await readsOf(table);
  const second = await page(list, first.next_cursor);
  expect(second.items).not.toHaveLength(0);
  await expect.poll(() => readsOf(table)).toBeGreaterThan(before);
});
