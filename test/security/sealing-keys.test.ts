import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { KEY_PATTERN, parseApiKey } from "../../src/domain/accounts/api-key.ts";
import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import { decodeBase58 } from "../../src/domain/core/base58.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { openStarted } from "../postgres/open-postgres.ts";
import { query } from "../support/database-server.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, xPayment, type Agent, type Answer, type World } from "../support/world.ts";

const world = useWorld();
let other: World["gateway"];
beforeAll(async () => void (other = await world.startAnother()));

/** Runs a command with the database's owner, or the role that serves. */
const toolgate = (args: string, url = world.database.url) =>
  runToolgateHere({ DATABASE_URL: url }, args.split(" "));
const sealingKeys = (args: string) => toolgate(`sealing-keys ${args} --json`);

/** The commands in the code block of a page that contains a text. */
function commandsOf(page: string, containing: string): string[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text!);
  const lines = (blocks.find((text) => text.includes(containing)) ?? "").trim().split("\n");
  return lines.map((line) => line.replace(/^node src\/main\.ts /, "").replace(/ +#.*$/, ""));
}

/** Buys a call at an instance; without a proof, asks for a quote. */
async function buy(agent: Agent, instance: { baseUrl: string }, headers: Record<string, string> = {}) {
  const response = await fetch(`${instance.baseUrl}/v1/mcp/tools/call`, {
    method: "POST",
    body: JSON.stringify({ tool: "vram_estimate", params: { model: "llama-3.1-8b" } }),
    headers: { authorization: `Bearer ${agent.apiKey}`, "content-type": "application/json", ...headers },
  });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function quotedBy(agent: Agent, instance: { baseUrl: string }) {
  const { body } = await buy(agent, instance);
  const version = decodeBase58(body.quote.quote_id.slice(3))?.readUInt16BE(1);
  return { quote: body.quote, version };
}

const versions = async (table: string) =>
  (await query(world.database.url, `select version from ${table} order by version`)).rows.map(
    ({ version }) => version,
  );

/** Lets a version have been active since then. */
const activeSince = (table: string, version: number, ago: string) =>
  query(
    world.database.url,
    `update ${table} set active_from = now() - interval '${ago}' where version = ${version}`,
  );

it("rotates sealing keys while instances run: all seal with the new one and accept older quotes", async () => {
  const agent = await world.agent();
  const [old, kept] = [await quotedBy(agent, world.gateway), await quotedBy(agent, other)];
  expect([old.version, kept.version]).toEqual([1, 1]);
  expect((await sealingKeys("rotate")).rows).toMatchObject([
    {
      for: "quotes",
      version: 2,
      state: "pending",
      needed_for: expect.stringMatching(/^it seals new quotes from/),
    },
  ]);
  expect((await quotedBy(agent, world.gateway)).version).toBe(1);

  await activeSince("sealing_key", 2, "1 second");
  for (const instance of [world.gateway, other])
    await expect.poll(async () => (await quotedBy(agent, instance)).version, { interval: 20 }).toBe(2);
  const fresh = await quotedBy(agent, world.gateway);
  for (const { quote } of [old, fresh]) {
    const tx = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
    expect((await buy(agent, other, xPayment(tx, quote.quote_id))).status).toBe(200);
  }
});

it("refuses to retire a sealing key that could still be needed", async () => {
  const refused = async (args: string) => {
    const { code, stderr } = await sealingKeys(`retire ${args}`);
    expect(code).toBe(1);
    return stderr;
  };
  expect(await refused("--key 1")).toMatch(
    /INVALID_REQUEST: .*its quotes can be open or being paid until 20/,
  );
  expect(await refused("--key 2 --force")).toMatch(/2 is active: it seals new quotes; rotate first/);
  expect(await refused("--key 7 --force")).toMatch(/NOT_FOUND: there is no version 7; there are 2, 1/);
  await activeSince("sealing_key", 2, "3 hours");
  await query(world.database.url, "update treasury_watch set looked_at = now() - interval '1 hour'");
  expect(await refused("--key 1")).toMatch(/the treasury watch last read the chain at 20/);
  await query(world.database.url, "update treasury_watch set looked_at = now()");
  expect(await toolgate("sealing-keys retire --key 1", world.database.servingUrl)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/The role in DATABASE_URL may not do this: .* schema's owner/),
  });
  await query(
    world.database.url,
    `insert into request_log (account_id, id, request_id, transport, method, status, charged, total_us,
       tool_us, payment_us, repeats, key_version, sealed, received_at, expires_at)
     values (gen_random_uuid(), gen_random_uuid(), 'req', 'http', 'call', 200, 0, 1, 1, 0, 0, 1, '\\x00',
       now(), now() + interval '1 day')`,
  );
  expect(await refused("--key 1")).toMatch(
    /it encrypts params and results of 1 logged request, which become unreadable; the last one expires at 20/,
  );
  await query(world.database.url, "update request_log set expires_at = now() where request_id = 'req'");
  expect(await versions("sealing_key")).toEqual([1, 2]);
  expect((await sealingKeys("list --for quotes")).rows).toMatchObject([
    { version: 2, state: "active" },
    { version: 1, state: "old", needed_for: null },
  ]);
  expect((await sealingKeys("retire --key 1")).rows).toMatchObject([{ version: 1, state: "retired" }]);
  expect(await versions("sealing_key")).toEqual([2]);
});

it("replaces sealing keys after a leak as documented, so that old seals become invalid", async () => {
  const agent = await world.agent();
  const { quote: stolen } = await quotedBy(agent, world.gateway);
  const tx = await world.pay(agent, BigInt(stolen.price_usdc_microusd), memoOf(stolen));
  for (const command of commandsOf("docs/explanation/security.md", "rotate --now"))
    expect(await toolgate(command.replace("--key 1", "--key 2"))).toMatchObject({ code: 0 });
  expect(await versions("sealing_key")).toEqual([3]);

  const instance = await world.startAnother();
  expect(await buy(agent, instance, xPayment(tx, stolen.quote_id))).toMatchObject({
    status: 402,
    body: { code: "INVALID_PAYMENT" },
  });
  const { quote } = await quotedBy(agent, instance);
  const paid = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
  expect((await buy(agent, instance, xPayment(paid, quote.quote_id))).status).toBe(200);
});

it("rotates the secret of API keys as documented without breaking valid keys", async () => {
  const [add = ""] = commandsOf("docs/guides/keys.md", "rotate --for api-keys");
  const [, retire = ""] = commandsOf("docs/guides/keys.md", "retire --for api-keys");
  const old = await world.agent();
  expect((await toolgate(add, world.database.servingUrl)).code).toBe(0);
  expect((await toolgate(retire)).stderr).toMatch(/1 is active: it signs new API keys/);
  await activeSince("api_key_secret", 2, "1 second");
  expect((await toolgate(retire)).stderr).toMatch(/an instance can sign with it until 20/);
  await activeSince("api_key_secret", 2, "1 hour");
  expect((await toolgate(retire)).stderr).toMatch(
    /it signed \d+ working API keys? \(keys list, keys rotate\)/,
  );
  expect((await world.get(old, "/receipts")).status).toBe(200);

  const end = "update api_key set revoked_at = now() where revoked_at is null and";
  await query(world.database.url, `${end} id <> '${old.keyId.slice(4)}'`);
  await query(world.database.url, "update api_key set secret_version = null where revoked_at is null");
  expect((await toolgate(retire)).stderr).toMatch(/it signed 1 working API key \(/);
  await query(world.database.url, `${end} true`);
  expect((await toolgate(retire)).code).toBe(0);
  expect(await versions("api_key_secret")).toEqual([2]);
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

it("records rotations and retirements in the operator log, refused ones with their reason", async () => {
  const { rows } = await toolgate("operations actions --limit 100 --json");
  const actions = rows.filter(({ action }) => String(action).startsWith("sealing-key."));
  expect(actions).toContainEqual(
    expect.objectContaining({ action: "sealing-key.rotate", target: "api-keys", failure: null }),
  );
  expect(actions).toContainEqual(
    expect.objectContaining({
      actor: expect.stringMatching(/^cli:/),
      action: "sealing-key.retire",
      target: "quotes 2",
      details: expect.stringMatching(/"force": ?true/),
      failure: expect.stringContaining("2 is active"),
    }),
  );
  expect(JSON.stringify(rows)).not.toMatch(/secret/);
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
