import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config.ts";
import { startWorld, type World } from "../support/world.ts";
import { figureOf } from "../crediting/fixture.ts";

let world: World;
const figure = (name: string, labels?: string) => figureOf(world.gateway.metricsAddress, name, labels);
beforeAll(async () => {
  world = await startWorld({ METRICS_PORT: "0", AUDIT_INTERVAL_SECONDS: "1" });
});
afterAll(() => world.close());

it("serves metrics on their own port only", async () => {
  expect(world.gateway.metricsAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(await figure("toolgate_suspense_transfers")).toBe(0);
  const { status, body } = await world.get(undefined, "/metrics");
  expect({ status, code: body.code }).toEqual({ status: 404, code: "NOT_FOUND" });
});

it("counts refused API keys", async () => {
  const before = (await figure("toolgate_keys_refused_total")) ?? 0;
  const headers = { Authorization: `Bearer sk-agent-${"a".repeat(43)}` };
  expect((await world.get(undefined, "/receipts", headers)).status).toBe(401);
  expect(await figure("toolgate_keys_refused_total")).toBe(before + 1);
});

it("repeats the ledger audit and exposes its result", async () => {
  const audited = () => figure("toolgate_audit_timestamp_seconds");
  await expect.poll(audited).toBeGreaterThan(1_700_000_000);
  const first = (await audited()) ?? 0;
  await expect.poll(audited).toBeGreaterThan(first);
  for (const { name } of await world.postgres.audit()) {
    expect(await figure("toolgate_audit_violations", `{invariant="${name}"}`), name).toBe(0);
  }
});

it("names METRICS_PORT when the port is taken, and serves no metrics without it", async () => {
  const taken = String(world.gateway.metricsAddress?.split(":")[1]);
  const refused = world.startAnother({ METRICS_PORT: taken });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(`METRICS_PORT: cannot listen on port ${taken}`);
  expect((await world.startAnother({ METRICS_PORT: "" })).metricsAddress).toBeUndefined();
});
