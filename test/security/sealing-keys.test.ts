import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { query } from "../support/database-server.ts";
import { memoOf, startWorld, xPayment, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

it("replaces the sealing keys as the security page says, so that nothing the old ones sealed is good any more", async () => {
  const sql = /```sql\n([\s\S]*?)```/.exec(readFileSync("docs/security.md", "utf8"))?.[1] ?? "";
  const keys = async () =>
    (await query(world.database.url, "select version, octet_length(secret) as length from sealing_key")).rows;
  expect(await keys()).toEqual([{ version: 1, length: 32 }]);
  const agent = await world.agent();
  const buy = (headers: Record<string, string> = {}) =>
    world.call(agent, "vram_estimate", { model: "llama-3.1-8b" }, { headers });
  const { quote: stolen } = (await buy()).body;
  const tx = await world.pay(agent, BigInt(stolen.price_usdc_microusd), memoOf(stolen));

  await query(world.database.url, sql);
  expect(await keys()).toEqual([{ version: 2, length: 32 }]);

  const instance = await world.startAnother();
  const post = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b" } });
    const authorization = `Bearer ${agent.apiKey}`;
    const init = { method: "POST", body, headers: { authorization, "content-type": "application/json", ...headers } };
    const response = await fetch(`${instance.baseUrl}/v1/mcp/tools/call`, init);
    return { status: response.status, body: (await response.json()) as typeof stolen };
  };
  expect(await post(xPayment(tx, stolen.quote_id))).toMatchObject({ status: 402, body: { code: "INVALID_PAYMENT" } });
  const { quote } = (await post({})).body;
  const paid = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
  expect((await post(xPayment(paid, quote.quote_id))).status).toBe(200);
});
