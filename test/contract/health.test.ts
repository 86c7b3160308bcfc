import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { openDatabaseLink, type DatabaseLink } from "../support/database-link.ts";
import { request, startWorld, type Agent, type World } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/** GET /health (specification 4.4). */

const CALL = "/v1/mcp/tools/call";
const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };

let world: World;
let agent: Agent;

beforeAll(async () => {
  world = await startWorld();
  agent = await world.agent({ balance: 10_000n });
});
afterAll(() => world.close());

const health = (headers?: Record<string, string>) => world.get(undefined, "/health", headers);

describe("health: 200", () => {
  it("returns ok and the version to anyone", async () => {
    const answer = await health();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "ok", version: "0.1.0" });
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("ignores credentials, so that every probe gets an answer", async () => {
    expect((await health({ authorization: "Bearer sk-agent-unknown" })).status).toBe(200);
    expect((await health({ authorization: "Basic YTpi" })).status).toBe(200);
  });
});

describe("health: 400", () => {
  it("rejects query parameters", async () => {
    expectError(await world.get(undefined, "/health?deep=1"), 400, "INVALID_REQUEST", /^deep: unknown/);
  });
});

describe("health: 405", () => {
  it("allows reading only", async () => {
    const answer = await world.post(agent, "/health", {});
    expectError(answer, 405, "METHOD_NOT_ALLOWED");
    expect(answer.headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("health: 503", () => {
  let link: DatabaseLink;
  let far: Gateway;
  const get = (path: string, caller?: Agent) => request(far, caller, path, { method: "GET" });
  const post = (path: string, body: object) =>
    request(far, agent, path, { method: "POST", body: JSON.stringify(body) });

  beforeAll(async () => {
    link = await openDatabaseLink(world.database.url);
    far = await world.startAnother({ DATABASE_URL: link.url });
  });
  afterEach(async () => {
    link.mend();
    await expect.poll(async () => (await get("/health")).status).toBe(200);
  });
  afterAll(() => link.close());

  it("returns unavailable while the database is unreachable", async () => {
    link.cut();
    const answer = await get("/health");
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual({ status: "unavailable", version: "0.1.0" });
  });

  it("answers calls with UNAVAILABLE and a retry delay while the database is unreachable, and loses nothing", async () => {
    expect((await post(CALL, { tool: "get_status", params: {} })).status).toBe(200);
    const unseen = await world.agent();
    link.cut();
    const answers = await Promise.all([
      post(CALL, { tool: "get_status", params: {} }),
      post(CALL, { ...PAID, idempotency_key: "outage" }),
      post("/mcp", PAID),
      get("/mcp/capabilities", unseen),
      get("/receipts", agent),
      get("/runs", agent),
      get(`/runs/run_${"0".repeat(32)}`, agent),
    ]);
    for (const answer of answers) {
      expectError(answer, 503, "UNAVAILABLE", /out of reach|unreachable/);
      expect(answer.body.retry_after_seconds).toBeGreaterThan(0);
    }
    link.mend();
    const paid = await post(CALL, { ...PAID, idempotency_key: "outage" });
    expect(paid.status).toBe(200);
    expect(await world.violations()).toEqual([]);
  });
});
