import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { ToolgateClient } from "../../src/client/index.ts";
import { type KeyLimits, NO_LIMITS } from "../../src/domain/accounts/budget.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { query } from "../support/database-server.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { expectError } from "./error-body.ts";

const PATH = "/v1/mcp/tools/price";
const PAID = { tool: "vram_estimate", params: { parameters_b: 7 } };

let world: World;
let rich: Agent;
let poor: Agent;

beforeAll(async () => {
  world = await startWorld();
  [rich, poor] = await Promise.all([world.agent({ balance: 2_000n }), world.agent({ balance: 400n })]);
});
afterAll(() => world.close());

const price = (agent: Agent | undefined, call: object = PAID) => world.post(agent, PATH, call);

async function limited({ accountId, wallet }: Agent, change: Partial<KeyLimits>): Promise<Agent> {
  const none = NO_LIMITS;
  const limits = { ...none, ...change };
  const wanted = { accountId, name: "limited", scopes: DEFAULT_SCOPES, limits };
  const { key, secret } = await world.postgres.apiKeys.create(wanted);
  return { accountId, wallet, keyId: key.keyId, apiKey: secret };
}

describe("the price of a call", () => {
  it("returns the price and the missing balance over HTTP", async () => {
    expect(await price(poor)).toMatchObject({
      status: 200,
      body: {
        tool: "vram_estimate",
        price_usdc_microusd: 1_000,
        price_display: "$0.001",
        balance_usdc_microusd: 400,
        missing_usdc_microusd: 600,
      },
    });
    expect((await price(rich)).body).toMatchObject({ missing_usdc_microusd: 0 });
    const free = await price(poor, { tool: "echo", params: { message: "hi" } });
    expect(free.body).toMatchObject({ price_usdc_microusd: 0, missing_usdc_microusd: 0 });
  });

  it.each([
    [
      "Connect",
      () => createConnectTransport({ baseUrl: world.gateway.baseUrl, httpVersion: "1.1", useHttpGet: true }),
    ],
    ["gRPC", () => createGrpcTransport({ baseUrl: `http://${world.gateway.grpcAddress}` })],
  ])("returns the price over %s", async (_name, transport) => {
    const headers = { authorization: `Bearer ${poor.apiKey}` };
    expect(await createClient(ToolService, transport()).getPrice(PAID, { headers })).toMatchObject({
      priceUsdcMicrousd: 1_000n,
      balanceUsdcMicrousd: 400n,
      missingUsdcMicrousd: 600n,
    });
  });

  it("is returned by the client package", async () => {
    const client = new ToolgateClient({ baseUrl: world.gateway.baseUrl, apiKey: poor.apiKey });
    expect(await client.price(PAID.tool, PAID.params)).toMatchObject({ missingUsdcMicrousd: 600n });
  });

  it("stores nothing, charges nothing and is rate-limited like a call", async () => {
    const agent = await world.agent({ balance: 2_000n, ratePerMinute: 1, burst: 2 });
    const answers = await Promise.all([price(agent), price(agent), price(agent)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(2_000n);
    const { rows } = await query(world.database.url, "select count(*)::int as runs from run");
    expect(rows).toEqual([{ runs: 0 }]);
  });

  it("fails like the call without a key, a tool, valid parameters or a sufficient limit", async () => {
    expectError(await price(undefined), 401, "UNAUTHORIZED");
    expectError(await price(poor, { tool: "teleport", params: {} }), 404, "TOOL_NOT_FOUND");
    const invalid = { ...PAID, params: { parameters_b: -1 } };
    expectError(await price(poor, invalid), 400, "INVALID_REQUEST", /^params\.parameters_b/);
    const oneTool = await limited(rich, { tools: new Set(["echo"]) });
    expectError(await price(oneTool), 403, "FORBIDDEN", /limited to the tools echo/);
    const small = await limited(rich, { perCall: 999n });
    expectError(await price(small), 403, "FORBIDDEN", /\$0\.000999 a call/);
  });

  it("counts today's spending of the key against its daily limit", async () => {
    const agent = await limited(await world.agent({ balance: 10_000n }), { perDay: 1_500n });
    expect((await price(agent)).status).toBe(200);
    expect((await world.call(agent, PAID.tool, PAID.params)).status).toBe(200);
    expectError(await price(agent), 403, "FORBIDDEN", /\$0\.001 is spent/);
  });
});
