import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import type { Log } from "../../src/domain/core/log.ts";
import { x402Payer } from "../interop/x402-payer.ts";
import type { Agent } from "../support/world.ts";
import { CALL, PAID_CALLS, startPaidWorld, type PaidWorld } from "./paid-calls.ts";

type Line = Record<string, unknown>;

const lines: Line[] = [];
const log: Log = { info: (line) => void lines.push({ ...line }), warn() {}, error() {} };
let world: PaidWorld;
let agent: Agent;

beforeAll(async () => {
  world = await startPaidWorld({ LOG_FREE_REQUESTS: "1" }, log);
  agent = await world.agent({ balance: 1_000_000n });
});
beforeEach(() => {
  lines.length = 0;
});
afterAll(() => world.close());

const requests = () => lines.filter(({ tool }) => tool !== undefined);

it.each(Object.entries(PAID_CALLS))("logs one line of a paid call over %s", async (transport, call) => {
  await call(world, agent);
  await expect.poll(requests).toHaveLength(1);
  const { body } = await world.get(agent, "/receipts");
  const [receipt] = body.items;
  expect(requests()).toEqual([
    {
      event: "request",
      transport,
      method: transport === "mcp" ? "tools/call" : expect.stringMatching(/^ToolService\//),
      tool: receipt.tool,
      status: 200,
      code: undefined,
      account_id: agent.accountId,
      key_id: agent.keyId,
      run_id: receipt.run_id,
      receipt_id: receipt.receipt_id,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      request_id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      trace_id: undefined,
    },
  ]);
});

it("logs the account of a wallet that pays by x402 without an API key", async () => {
  const payer = await x402Payer(world);
  const init = {
    method: "POST",
    body: JSON.stringify(CALL.params),
    headers: { "Content-Type": "application/json" },
  };
  const response = await payer.fetch(`${world.gateway.baseUrl}/x402/${CALL.tool}`, init);
  const answer = await response.text();
  expect(response.status, answer).toBe(200);
  await expect.poll(requests).toHaveLength(2);
  const account_id = expect.stringMatching(/^acct_/);
  const { run_id, receipt_id } = JSON.parse(answer).receipt;
  expect(requests()).toMatchObject([
    { transport: "http", status: 402, code: "PAYMENT_REQUIRED", account_id: undefined },
    { transport: "http", status: 200, account_id, run_id, receipt_id },
  ]);
});

it("logs refusals with their codes, and neither parameters, proofs nor keys", async () => {
  const poor = await world.agent();
  const proof = Buffer.from('{"tx":"planted-proof"}').toString("base64");
  await world.post(poor, "/v1/mcp/tools/call", { ...CALL, params: { model: "llama-3.1-8b" } });
  await world.post(poor, "/v1/mcp/tools/call", { tool: "echo", params: { message: "planted-text" } });
  await world.post(poor, "/v1/mcp/tools/call", CALL, { "X-Payment": proof });
  await world.get(undefined, "/receipts?cursor=planted-query", { Authorization: "Bearer planted-key" });
  await expect.poll(() => lines).toHaveLength(4);
  expect(lines.map(({ status, code }) => [status, code])).toEqual([
    [402, "PAYMENT_REQUIRED"],
    [200, undefined],
    [400, "INVALID_PAYMENT"],
    [401, "UNAUTHORIZED"],
  ]);
  const text = JSON.stringify(lines);
  for (const secret of [poor.apiKey, proof, "planted"]) expect(text).not.toContain(secret);
});
