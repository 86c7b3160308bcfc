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

/** GET /receipts and GET /receipts/{id} (specification 4.5). */

const ROUTE: ListRoute = {
  path: "/receipts",
  id: "receipt_id",
  other: "/runs",
  scope: "billing:read",
  statuses: ["final", "refunded", "reversed"],
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

describe("receipts: 200", () => {
  itPages(
    ROUTE,
    () => world,
    () => agent,
  );

  it("contains every field, null for a call paid from the balance", async () => {
    const { body } = await world.get(agent, "/receipts?limit=1");
    expect(body.items).toEqual([
      {
        receipt_id: expect.stringMatching(/^rcpt_[0-9a-f]{32}$/),
        step_id: null,
        run_id: expect.stringMatching(/^run_[0-9a-f]{32}$/),
        quote_id: null,
        tool: "vram_estimate",
        quoted_usdc_microusd: 1000,
        debited_usdc_microusd: 1000,
        refunded_usdc_microusd: 0,
        paid_by: "balance",
        tx_signature: null,
        status: "final",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
  });

  it("filters receipts by status", async () => {
    expect((await world.get(agent, "/receipts?status=final&limit=100")).body.items).toHaveLength(BOUGHT);
    expect((await world.get(agent, "/receipts?status=refunded")).body.items).toEqual([]);
  });
});

describe("receipts: 400", () =>
  itRefusesQueries(
    ROUTE,
    () => world,
    () => agent,
  ));

describe("receipts: 401, 403, 404, 405 and 429", () =>
  itKeepsToOwners(
    ROUTE,
    () => world,
    () => agent,
  ));
