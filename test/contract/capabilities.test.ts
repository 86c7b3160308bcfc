import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/** GET /mcp/capabilities (specification 4.3, 2.6). */

let world: World;
let agent: Agent;

beforeAll(async () => {
  world = await startWorld();
  agent = await world.agent();
});
afterAll(() => world.close());

const list = (caller?: Agent, headers?: Record<string, string>) =>
  world.get(caller, "/mcp/capabilities", headers);

describe("capabilities: 200", () => {
  it("lists the catalogue in order with status, billing and the payment address", async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    const { tools, ...rest } = body;
    expect(rest).toEqual({ version: "0.1.0", network: "solana-mainnet", asset: "USDC" });
    const rows = tools.map((tool: Record<string, unknown>) => [
      tool["name"],
      tool["status"],
      tool["billable"],
    ]);
    expect(rows.slice(0, 7)).toEqual([
      ["get_status", "active", false],
      ["echo", "active", false],
      ["inference_chat", "coming_soon", true],
      ["vram_estimate", "active", true],
      ["sandbox_execute", "coming_soon", true],
      ["sandbox_cancel", "coming_soon", false],
      ["gpu_provision", "coming_soon", false],
    ]);
  });

  it("gives every tool its documented fields, and a price when it is fixed", async () => {
    for (const tool of (await list()).body.tools) {
      expect(tool).toEqual({
        name: expect.any(String),
        status: expect.any(String),
        billable: expect.any(Boolean),
        metered: expect.any(Boolean),
        description: expect.stringMatching(/./),
        input_schema: expect.objectContaining({ type: "object" }),
        ...(tool.price && {
          price: {
            price_usdc_microusd: expect.any(Number),
            price_display: expect.stringMatching(/^\$0\.\d+$/),
          },
        }),
      });
    }
    const { price } = (await list()).body.tools[3];
    expect(price).toEqual({ price_usdc_microusd: 1000, price_display: "$0.001" });
  });

  it("filters by status and billable as in the specification's example", async () => {
    const { tools } = (await list()).body;
    const buyable = tools.filter(
      (tool: { status: string; billable: boolean }) => tool.status === "active" && tool.billable,
    );
    expect(buyable.map((tool: { name: string }) => tool.name)).toContain("vram_estimate");
  });

  it("returns the same with and without a key, and counts the keyed request", async () => {
    const [keyed, open] = [await list(agent), await list()];
    expect(keyed.body).toEqual(open.body);
    expect(keyed.headers.get("x-ratelimit-limit")).toBe("1000000");
    expect(open.headers.get("x-ratelimit-limit")).toBeNull();
    expect(open.headers.get("x-request-id")).toMatch(/^req_/);
  });
});

describe("capabilities: 400", () => {
  it("rejects query parameters and a body", async () => {
    expectError(
      await world.get(agent, "/mcp/capabilities?status=active"),
      400,
      "INVALID_REQUEST",
      /^status: unknown/,
    );
  });
});

describe("capabilities: 401", () => {
  it.each(["Bearer sk-agent-unknown", "Bearer nope", "Basic YTpi", "Bearer", "sk-agent-unknown"])(
    "rejects the bad credentials %j although none are required",
    async (authorization) => {
      expectError(await list(undefined, { authorization }), 401, "UNAUTHORIZED", /key|Bearer/);
    },
  );
});

describe("capabilities: 405", () => {
  it("allows reading only", async () => {
    const answer = await world.post(agent, "/mcp/capabilities", {});
    expectError(answer, 405, "METHOD_NOT_ALLOWED");
    expect(answer.headers.get("allow")).toBe("GET, HEAD");
  });
});

describe("capabilities: 429", () => {
  it("rate-limits keyed requests only", async () => {
    const limited = await world.agent({ ratePerMinute: 60, burst: 1 });
    expect((await list(limited)).status).toBe(200);
    expectError(await list(limited), 429, "RATE_LIMITED");
    expect((await list()).status).toBe(200);
  });
});
