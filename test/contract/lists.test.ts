import { beforeAll, describe, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import type { Agent, Answer } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/**
 * What GET /receipts and GET /runs have in common (specification 4.5, 4.6; docs/reference/errors.md,
 * "Conventions"). documents.test.ts shows the refusals of all paths.
 */

const ROUTES = [
  {
    path: "/receipts",
    /** The member that identifies an item. */
    id: "receipt_id",
    /** The list whose cursors are not of this one. */
    other: "/runs",
    scope: "billing:read",
    statuses: ["final", "refunded", "reversed"],
  },
  {
    path: "/runs",
    id: "run_id",
    other: "/receipts",
    scope: "compute:read",
    statuses: ["active", "completed", "failed", "cancelled"],
  },
] as const;
const BOUGHT = 45;

const world = useWorld();
/** Bought the calls one by one, so that "newest first" is defined. */
let agent: Agent;
beforeAll(async () => {
  agent = await world.agent({ balance: 1_000_000n });
  for (let bought = 0; bought < BOUGHT; bought++) await buy();
});
const buy = (by = agent) => world.call(by, "vram_estimate", { model: "llama-3.1-8b" });

async function pages(path: string): Promise<Answer[]> {
  const answers: Answer[] = [];
  let cursor: string | null = null;
  do {
    const next: string =
      cursor === null ? "" : `${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`;
    const answer = await world.get(agent, path + next);
    expect(answer.status).toBe(200);
    answers.push(answer);
    cursor = answer.body.next_cursor;
  } while (cursor !== null);
  return answers;
}

describe.each(ROUTES)("GET $path", (route) => {
  const get = (query: string) => world.get(agent, route.path + query);

  it("shows the newest 20 first and says that there is more", async () => {
    const { status, body } = await get("");
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["has_more", "items", "next_cursor"]);
    expect(body.items).toHaveLength(20);
    expect(body.has_more).toBe(true);
    expect(body.next_cursor).toMatch(/./);
    // Sorted by time, not text: a whole second has no fraction, and sorts after its fractions as text.
    const times: number[] = body.items.map((item: { created_at: string }) => Date.parse(item.created_at));
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  });

  it.each([1, 7, 20, 44, 45, 100])("shows each item once, in pages of %i", async (limit) => {
    const all = await pages(`${route.path}?limit=${limit}`);
    const sizes = all.map(({ body }) => body.items.length);
    const full = Math.floor(BOUGHT / limit);
    expect(sizes).toEqual([...Array<number>(full).fill(limit), BOUGHT % limit].filter((size) => size > 0));
    const ids: string[] = all.flatMap(({ body }) =>
      body.items.map((item: Record<string, string>) => item[route.id]),
    );
    expect(new Set(ids).size).toBe(BOUGHT);
    expect(ids).toEqual(ids.toSorted().toReversed());
    expect(all.map(({ body }) => body.has_more)).toEqual(all.map((_, index) => index < all.length - 1));
  });

  it("keeps a page as it is while newer items come in", async () => {
    const busy = await world.agent({ balance: 10_000n });
    const buy = () => world.call(busy, "vram_estimate", { model: "llama-3.1-8b" });
    for (const _ of [1, 2, 3]) await buy();
    const first = await world.get(busy, `${route.path}?limit=2`);
    await buy();
    const second = await world.get(busy, `${route.path}?limit=2&cursor=${first.body.next_cursor}`);
    const ids = [...first.body.items, ...second.body.items].map((item) => item[route.id]);
    expect(new Set(ids).size).toBe(3);
    expect(second.body.has_more).toBe(false);
  });

  it("is empty for an agent that bought nothing, and hides other accounts' items", async () => {
    const { body } = await world.get(await world.agent(), route.path);
    expect(body).toEqual({ items: [], next_cursor: null, has_more: false });
  });

  it("shows one item exactly as the list does", async () => {
    const [item] = (await get("?limit=1")).body.items;
    const one = await world.get(agent, `${route.path}/${item[route.id]}`);
    expect(one.status).toBe(200);
    expect(one.body).toEqual(item);
  });

  it.each([...route.statuses])("takes the status %s", async (status) => {
    const { status: http, body } = await get(`?status=${status}&limit=100`);
    expect(http).toBe(200);
    for (const item of body.items) expect(item.status).toBe(status);
  });

  it.each([
    "0",
    "-1",
    "101",
    "abc",
    "1.5",
    "1.0",
    "1e1",
    "+5",
    "",
    "1e400",
    "99999999999999999999",
    "0x10",
    "20,20",
    "NaN",
  ])("refuses the limit %j", async (limit) => {
    expectError(await get(`?limit=${limit}`), 400, "INVALID_REQUEST", /^limit: /);
  });

  const enumName = `${route.path === "/runs" ? "RUN" : "RECEIPT"}_STATUS_${route.statuses[0]?.toUpperCase()}`;

  it.each([
    "nothing",
    "ACTIVE",
    "unspecified",
    enumName,
    "1",
    "2",
    "99",
    "-1",
    "1.0",
    "",
    "constructor",
    "__proto__",
  ])("refuses the status %j and lists those that there are", async (status) => {
    const says = new RegExp(`^status: must be one of ${route.statuses.join(", ")}$`);
    expectError(await get(`?status=${status}`), 400, "INVALID_REQUEST", says);
  });

  it.each([
    "",
    "x",
    "%00",
    "%ED%A0%80",
    "../..",
    "eyJhIjoxfQ",
    "A".repeat(200),
    "A".repeat(201),
    "A".repeat(5000),
  ])("refuses the cursor %j", async (cursor) => {
    expectError(await get(`?cursor=${cursor}`), 400, "INVALID_REQUEST", /^cursor: /);
  });

  it("refuses a cursor of the other list, and one that was changed", async () => {
    const foreign = (await world.get(agent, `${route.other}?limit=1`)).body.next_cursor;
    expectError(await get(`?cursor=${foreign}`), 400, "INVALID_REQUEST", /^cursor: /);
    const own: string = (await get("?limit=1")).body.next_cursor;
    for (const changed of [`${own}=`, `${own}A`, own.slice(0, -1), own.toLowerCase(), ` ${own}`]) {
      expectError(await get(`?cursor=${encodeURIComponent(changed)}`), 400, "INVALID_REQUEST", /^cursor: /);
    }
  });

  it.each(["offset=1", "page=2", "Limit=5", "limit[]=5", "a.b=c", "constructor=1", "__proto__=1", "=1"])(
    "refuses the unknown parameter %s",
    async (parameter) => {
      expectError(await get(`?${parameter}`), 400, "INVALID_REQUEST", /unknown query parameter/);
    },
  );

  it("refuses a parameter that is given twice, or is not percent-encoded UTF-8", async () => {
    expectError(await get("?limit=5&limit=5"), 400, "INVALID_REQUEST", /^limit: given more than once/);
    expectError(await get("?limit=%FF"), 400, "INVALID_REQUEST", /^limit: has a malformed percent escape/);
    expectError(await get("?limit=%"), 400, "INVALID_REQUEST", /^limit: has a malformed percent escape/);
  });

  it("answers foreign and unknown identifiers alike", async () => {
    const [item] = (await world.get(agent, `${route.path}?limit=1`)).body.items;
    const kind = route.id.slice(0, route.id === "run_id" ? 3 : 7);
    const prefix = route.id === "run_id" ? "run" : "rcpt";
    const stranger = await world.agent();
    const foreign = await world.get(stranger, `${route.path}/${item[route.id]}`);
    expectError(foreign, 404, "NOT_FOUND", new RegExp(`^there is no ${kind} with this id in your account$`));
    for (const id of [
      `${prefix}_${"0".repeat(32)}`,
      "x",
      "%00",
      "..",
      `${item[route.id]}x`,
      "x".repeat(101),
      "x".repeat(10_000),
      item[route.id].toUpperCase(),
      "%F0%9F%98%80",
    ]) {
      const unknown = await world.get(stranger, `${route.path}/${id === ".." ? "%2E%2E" : id}`);
      if (unknown.body.message === "no route matches this path") continue; // the client resolved the dots
      expect(unknown.status).toBe(404);
      expect({ ...unknown.body, request_id: "" }).toEqual({ ...foreign.body, request_id: "" });
    }
  });

  it(`asks for the scope ${route.scope}, before anything is looked up`, async () => {
    const limited = await world.agent({ scopes: ["inference:write"] });
    for (const path of [route.path, `${route.path}?limit=0`, `${route.path}/x`]) {
      expectError(await world.get(limited, path), 403, "FORBIDDEN", new RegExp(route.scope));
    }
    const allowed = await world.agent({ scopes: [route.scope] });
    expect((await world.get(allowed, route.path)).status).toBe(200);
  });
});

describe("the fields of a receipt", () => {
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

describe("the fields of a run", () => {
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
