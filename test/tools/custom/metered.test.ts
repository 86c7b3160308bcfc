import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { fingerprint } from "../../../src/domain/calls/call-context.ts";
import { mcpClient } from "../../interop/mcp-transports.ts";
import { TRANSPORTS, type Call } from "../../interop/transports.ts";
import { callOf } from "../../postgres/fixture.ts";
import { query } from "../../support/database-server.ts";
import { useWorld } from "../../support/use-world.ts";
import { memoOf, xPayment, type Agent } from "../../support/world.ts";
import {
  documentFolder,
  json,
  openapi,
  operation,
  startThirdParty,
  type ThirdParty,
} from "./http/third-party.ts";

/** A custom tool that charges what its server reports, and every way in which its calls end. */

const PRICE = 1_000;
const BALANCE = 10_000n;
const UNITS = "X-Units";
const folder = documentFolder();
let party: ThirdParty;
let agent: Agent;

const world = useWorld(async () => {
  party = await startThirdParty();
  const requestBody = { content: { "application/json": { schema: { type: "object" } } } };
  const responses = { 200: { description: "fine", content: { "application/json": {} } } };
  const paths = { "/op": { post: operation("op", { requestBody, responses }) } };
  folder.write("api.json", openapi(paths, { servers: [{ url: party.url }] }));
  const common = {
    price: { flat_microusd: PRICE },
    http: { openapi: "api.json", operation_id: "op" },
    allow_hosts: ["127.0.0.1"],
    max_response_bytes: 1_000,
  };
  const meter = { microusd_per_unit: 10, unit: "page", minimum_microusd: 30 };
  const tools = [
    { ...common, name: "by_header", meter: { header: UNITS, ...meter } },
    { ...common, name: "by_trailer", meter: { trailer: UNITS, ...meter } },
    {
      ...common,
      name: "by_pointer",
      meter: { json_pointer: "/usage/pages", ...meter, otherwise: "minimum" },
    },
    { ...common, name: "impatient", timeout_ms: 300, meter: { header: UNITS, ...meter } },
  ];
  return { TOOLGATE_CONFIG: folder.write("toolgate.json", { tools }) };
});
beforeEach(async () => {
  party.received.length = 0;
  agent = await world.agent({ balance: BALANCE });
});
afterAll(async () => {
  await party.close();
  folder[Symbol.dispose]();
});

/** Answers with a header that reports the use. */
const reporting = (units: string, body: unknown = { fine: true }) => {
  party.answer = (response) => json(response, 200, body, { [UNITS]: units });
};
const once = (tool = "by_header", key = "k") =>
  world.call(agent, tool, { body: {} }, { body: { idempotency_key: key } });
const balance = async () => {
  const { body } = await world.call(agent, "get_status", {});
  return Math.round(Number(body.result.balance_usdc) * 1e6);
};
const expectCharged = async (amount: number) => expect(await balance()).toBe(Number(BALANCE) - amount);
const charge = (debited: number) => ({ quoted_usdc_microusd: PRICE, debited_usdc_microusd: debited });

describe("a metered custom tool", () => {
  it("charges what a header, a trailer or a member of the answer reports", async () => {
    reporting("7");
    expect((await once("by_header")).body.receipt).toMatchObject(charge(70));
    party.answer = (response) => {
      response.writeHead(200, { "Content-Type": "application/json", Trailer: UNITS });
      response.write('{"fine":');
      response.addTrailers({ [UNITS]: "8" });
      response.end("true}");
    };
    expect((await once("by_trailer", "k2")).body.receipt).toMatchObject(charge(80));
    reporting("0", { usage: { pages: 9.5 } });
    expect((await once("by_pointer", "k3")).body.receipt).toMatchObject(charge(95));
    await expectCharged(245);
  });

  it.each<[string, number]>([
    ["2", 30],
    ["100", PRICE],
    ["101", PRICE],
    ["999999999999999", PRICE],
    ["1e99", PRICE],
    ["-5", PRICE],
    ["NaN", PRICE],
    ["Infinity", PRICE],
  ])("charges no more than the quote when its server reports %s units", async (units, debited) => {
    reporting(units);
    expect((await once()).body.receipt).toMatchObject(charge(debited));
    await expectCharged(debited);
  });

  it("charges the minimum if a value is missing and the meter says so", async () => {
    reporting("7", { usage: "none" });
    expect((await once("by_pointer")).body.receipt).toMatchObject(charge(30));
  });

  it("says 'at most', takes the whole payment as a deposit and leaves the rest on the balance", async () => {
    agent = await world.agent();
    reporting("7");
    const { status, body } = await world.call(agent, "by_header", { body: {} });
    expect([status, body.quote.price_usdc_microusd]).toEqual([402, PRICE]);
    expect(body.message).toBe(
      "This call costs at most $0.001 and the balance is $0.00: pay the quote and repeat the call with the " +
        "proof, or deposit USDC. What the call does not use stays on your balance",
    );
    const tx = await world.pay(agent, BigInt(PRICE), memoOf(body.quote));
    const headers = xPayment(tx, body.quote.quote_id);
    const bought = await world.call(agent, "by_header", { body: {} }, { headers });
    expect(bought.body.receipt).toMatchObject({ ...charge(70), paid_by: "transfer", tx_signature: tx });
    expect(await balance()).toBe(PRICE - 70);
    const again = await world.call(agent, "by_header", { body: {} }, { headers });
    expect(again.body.receipt).toEqual(bought.body.receipt);
    expect(await balance()).toBe(PRICE - 70);
  });

  it("reports the charge in runs, receipts, the catalogue and the price of a call", async () => {
    reporting("7");
    const { receipt } = (await once()).body;
    const [run] = (await world.get(agent, "/runs")).body.items;
    expect(run).toMatchObject({ quoted_usdc_microusd: PRICE, spent_usdc_microusd: 70 });
    expect((await world.get(agent, `/receipts/${receipt.receipt_id}`)).body).toMatchObject(charge(70));
    const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
    expect(tools.find(({ name }: { name: string }) => name === "by_header")).toMatchObject({
      metered: true,
      description: expect.stringContaining("Charged by use, 10 micro-USD per page, at most the price."),
    });
    const call = { tool: "by_header", params: { body: {} } };
    expect((await world.post(agent, "/v1/mcp/tools/price", call)).body).toMatchObject({
      price_usdc_microusd: PRICE,
      metered: true,
    });
  });

  it("charges the same over every protocol", async () => {
    reporting("7");
    const request = { tool: "by_header", params: { body: {} } };
    const call: Call = {
      method: ToolService.method.callTool,
      request,
      path: "/v1/mcp/tools/call",
      body: request,
    };
    for (const [name, open] of [...TRANSPORTS, ["MCP", mcpClient] as const]) {
      const target = open(world.gateway);
      const outcome = await target.call(call, { Authorization: `Bearer ${agent.apiKey}` });
      target.close();
      expect(JSON.stringify(outcome), name).toContain(
        '"quoted_usdc_microusd":1000,"debited_usdc_microusd":70',
      );
    }
  });

  it("charges one of many concurrent repeats, whatever each run reports", async () => {
    let runs = 0;
    party.answer = (response) => json(response, 200, { run: ++runs }, { [UNITS]: String(runs) });
    const answers = await Promise.all(Array.from({ length: 30 }, () => once()));
    const bought = answers.filter(({ status }) => status === 200);
    expect(bought.length).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status !== 200).every(({ status }) => status === 409)).toBe(true);
    expect(new Set(bought.map(({ body }) => body.receipt.receipt_id)).size).toBe(1);
    expect(runs).toBe(1);
    await expectCharged(30);
  });
});

/** Rows of the table in docs/guides/pricing.md, "How a call ends". */
describe("a metered call that ends by", () => {
  const twice = async (tool?: string) => [await once(tool), await once(tool)] as const;

  it.each([
    ["success", { pages: 7 }, { pages: 7 }],
    ["a truncated answer", "x".repeat(2_000), { omitted: "too_long" }],
  ])("%s is charged its use; a repeat returns the stored result", async (_end, answer, result) => {
    reporting("7", answer);
    const [first, again] = await twice();
    expect(first.body).toMatchObject({ result, receipt: charge(70) });
    expect(again.body).toMatchObject({ result: first.body.result, receipt: first.body.receipt });
    expect(party.received).toHaveLength(1);
    await expectCharged(70);
  });

  it("an empty answer is charged its use, and its price without a report", async () => {
    party.answer = (response) => void response.writeHead(200, { [UNITS]: "7" }).end();
    expect((await once()).body).toMatchObject({ result: {}, receipt: charge(70) });
    party.answer = (response) => void response.writeHead(200).end();
    expect((await once("by_header", "other")).body).toMatchObject({ result: {}, receipt: charge(PRICE) });
    await expectCharged(70 + PRICE);
  });

  it("a server that dies in mid-answer is not charged; a repeat runs again", async () => {
    party.answer = (response) => {
      response.writeHead(200, { "Content-Type": "application/json", [UNITS]: "7" });
      response.write('{"half":', () => response.destroy());
    };
    const [first, again] = await twice();
    expect([first.body.code, again.body.code]).toEqual(["TOOL_FAILED", "TOOL_FAILED"]);
    expect(party.received).toHaveLength(2);
    await expectCharged(0);
    reporting("7");
    expect((await once()).body.receipt).toMatchObject(charge(70));
  });

  it("the caller's disconnect is charged like any other; a repeat returns the stored result", async () => {
    const gone = new AbortController();
    const answers = Promise.withResolvers<() => void>();
    party.answer = (response) => answers.resolve(() => json(response, 200, { late: true }, { [UNITS]: "7" }));
    const left = fetch(`${world.gateway.baseUrl}/v1/mcp/tools/call`, {
      method: "POST",
      headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" },
      body: JSON.stringify({ tool: "by_header", params: { body: {} }, idempotency_key: "k" }),
      signal: gone.signal,
    }).catch(() => "left");
    const answer = await answers.promise;
    gone.abort();
    expect(await left).toBe("left");
    answer();
    await expect.poll(balance).toBe(Number(BALANCE) - 70);
    expect((await once()).body).toMatchObject({ result: { late: true }, receipt: charge(70) });
    expect(party.received).toHaveLength(1);
  });

  it("the tool's deadline is not charged; a repeat runs again", async () => {
    party.answer = () => {};
    expect((await once("impatient")).body).toMatchObject({ code: "TOOL_FAILED" });
    await expectCharged(0);
    reporting("7");
    expect((await once("impatient")).body.receipt).toMatchObject(charge(70));
    expect(party.received).toHaveLength(2);
  });

  it("the death of its instance is not charged; a repeat runs again once the lease is over", async () => {
    const params = { body: {} };
    const call = callOf(agent.accountId, {
      tool: "by_header",
      fingerprint: fingerprint("by_header", params),
      price: BigInt(PRICE),
      idempotencyKey: "k",
    });
    // Another instance, which dies after the tool started.
    expect(await world.postgres.ledger.authorize(call)).toEqual({ kind: "started" });
    reporting("7");
    expect((await once()).status).toBe(409);
    await expectCharged(PRICE);
    await query(
      world.database.url,
      `update run set lease_until = now() - interval '1 hour' where id = '${uuidOf("run", call.runId)}'`,
    );
    await expect.poll(async () => (await once()).body.receipt).toMatchObject(charge(70));
    expect(party.received).toHaveLength(1);
    await expectCharged(70);
  });
});
