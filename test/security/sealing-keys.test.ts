import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { KEY_PATTERN, parseApiKey } from "../../src/domain/accounts/api-key.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { openStarted } from "../postgres/open-postgres.ts";
import { query } from "../support/database-server.ts";
import { memoOf, startWorld, xPayment, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

it("rotates sealing keys as documented, so that old seals become invalid", async () => {
  const sql = /```sql\n([\s\S]*?)```/.exec(readFileSync("docs/explanation/security.md", "utf8"))?.[1] ?? "";
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
    const init = {
      method: "POST",
      body,
      headers: { authorization, "content-type": "application/json", ...headers },
    };
    const response = await fetch(`${instance.baseUrl}/v1/mcp/tools/call`, init);
    return { status: response.status, body: (await response.json()) as typeof stolen };
  };
  expect(await post(xPayment(tx, stolen.quote_id))).toMatchObject({
    status: 402,
    body: { code: "INVALID_PAYMENT" },
  });
  const { quote } = (await post({})).body;
  const paid = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
  expect((await post(xPayment(paid, quote.quote_id))).status).toBe(200);
});

it("adds and retires API key secrets as documented without breaking valid keys", async () => {
  const [add = "", retire = ""] = Array.from(
    readFileSync("docs/guides/keys.md", "utf8").matchAll(/```sql\n([\s\S]*?)```/g),
    ([, sql]) => sql,
  );
  const versions = async () =>
    (await query(world.database.url, "select version from api_key_secret order by version")).rows.map(
      (row) => row.version,
    );
  const old = await world.agent();
  await query(world.database.url, add);
  await query(
    world.database.url,
    "update api_key_secret set active_from = now() - interval '1 second' where version = 2",
  );
  await query(world.database.url, retire);
  expect(await versions()).toEqual([1, 2]);
  expect((await world.get(old, "/receipts")).status).toBe(200);

  await query(world.database.url, "update api_key set revoked_at = now() where revoked_at is null");
  await query(world.database.url, retire);
  expect(await versions()).toEqual([2]);
  const later = await openStarted(world.database.servingUrl);
  const { accountId } = old;
  const { secret } = await later.apiKeys.create({ accountId, name: "new", scopes: DEFAULT_SCOPES });
  expect(parseApiKey(secret)?.version).toBe(2);
  // The gateway queries an unknown version at most once a second.
  const status = async () =>
    (await world.get(undefined, "/receipts", { authorization: `Bearer ${secret}` })).status;
  await expect.poll(status).toBe(200);
  await later.close();
});

it.each(["docs/guides/keys.md", "SECURITY.md"])(
  "documents the API key pattern in %s for secret scanners",
  async (page) => {
    const [published = ""] = /\\bsk-agent-\S+?\\b/.exec(readFileSync(page, "utf8")) ?? [];
    const { apiKey } = await world.agent();
    const scanner = new RegExp(published, "g");
    const text = `export KEY=${apiKey}; also "${apiKey}", ${apiKey.slice(0, -1)} and ${apiKey}x`;
    expect(text.match(scanner)).toEqual([apiKey, apiKey]);
    expect(KEY_PATTERN.source).toBe(published.replace(/^\\b/, "^").replace(/\\b$/, "$"));
  },
);
