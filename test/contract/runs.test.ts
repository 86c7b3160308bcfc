import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startWorld, type Agent, type World } from "../support/world.ts";
import {
  BOUGHT,
  buyMany,
  itKeepsToOwners,
  itPages,
  itRefusesQueries,
  type ListRoute,
} from "./list-contract.ts";

/** GET /runs and GET /runs/{id} (specification 4.6). */

const ROUTE: ListRoute = {
  path: "/runs",
  id: "run_id",
  other: "/receipts",
  scope: "compute:read",
  statuses: ["active", "completed", "failed", "cancelled"],
};

let world: World;
let agent: Agent;

beforeAll(async () => {
  world = await startWorld();
  agent = await buyMany(world);
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
});

describe("runs: 200", () => {
  itPages(
    ROUTE,
    () => world,
    () => agent,
  );

  it("contains every field of a paid run", async () => {
    const { body } = await world.get(agent, "/runs?limit=1");
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(body.items).toEqual([
      {
        run_id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
        step_id: null,
        tool: "vram_estimate",
        status: "completed",
        quoted_usdc_microusd: 1000,
        spent_usdc_microusd: 1000,
        receipt_id: expect.stringMatching(/^rcpt_[0-9a-f]{32}$/),
        error: null,
        model: null,
        created_at: time,
        started_at: time,
        ended_at: time,
      },
    ]);
  });

  it("filters runs by status", async () => {
    expect((await world.get(agent, "/runs?status=completed&limit=100")).body.items).toHaveLength(BOUGHT);
    expect((await world.get(agent, "/runs?status=failed")).body.items).toEqual([]);
  });

  it("contains a free call only with an idempotency key", async () => {
    const free = await world.agent();
    await world.call(free, "echo", { message: "unkept" });
    await world.call(free, "echo", { message: "kept" }, { body: { idempotency_key: "k" } });
    const { body } = await world.get(free, "/runs");
    expect(body.items).toMatchObject([
      { tool: "echo", status: "completed", spent_usdc_microusd: 0, receipt_id: null },
    ]);
  });
});

describe("runs: 400", () =>
  itRefusesQueries(
    ROUTE,
    () => world,
    () => agent,
  ));

describe("runs: 401, 403, 404, 405 and 429", () =>
  itKeepsToOwners(
    ROUTE,
    () => world,
    () => agent,
  ));
