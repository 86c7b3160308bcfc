import { beforeAll, describe, expect, it } from "vitest";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import type { Gateway } from "../../../src/gateway.ts";
import { signIn } from "../../support/console.ts";
import { query } from "../../support/database-server.ts";
import { restartPort } from "../../support/ports.ts";
import { useWorld } from "../../support/use-world.ts";
import { callGrpc, failureOf, grpcClient } from "../grpc-client.ts";
import {
  askRegistration,
  authorizeUrl,
  Browser,
  CALLBACK,
  connect,
  postJson,
  redeem,
  refresh,
  register,
} from "./browser.ts";

const world = useWorld({ TRUSTED_PROXY_HOPS: "1" });
/** Another instance of the same address. */
let second: Gateway;
let local: { readonly baseUrl: string; readonly consoleUrl: string };

beforeAll(async () => {
  const port = String(await restartPort());
  second = await world.startAnother({ PUBLIC_URL: world.gateway.baseUrl, PORT: port });
  local = { baseUrl: `http://127.0.0.1:${port}`, consoleUrl: second.consoleUrl };
});

const CALL = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** The status of a request with a token. */
async function use(token: string, { baseUrl }: { baseUrl: string } = world.gateway): Promise<number> {
  return (await fetch(`${baseUrl}/receipts`, { headers: bearer(token) })).status;
}

/** Ten seconds later, for refresh tokens that were used. */
async function afterGrace(): Promise<void> {
  const text = "update oauth_record set consumed_at = consumed_at - interval '10 seconds'";
  await query(world.database.url, `${text} where model = 'RefreshToken'`);
}

const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);

describe("a redirect address", () => {
  it.each([
    "https://evil.example/callback",
    `${CALLBACK}/more`,
    `${CALLBACK}?more=1`,
    `${CALLBACK}#more`,
    "http://127.0.0.1.evil.example:33418/callback",
    "http://127.0.0.1:33418@evil.example/callback",
    "http://evil.example:33418@127.0.0.1:33418/callback",
    "http://localhost:33418/callback",
    "https://127.0.0.1:33418/callback",
    "//evil.example/callback",
    "javascript:alert(1)",
    undefined,
  ])("that is not registered is not redirected to: %s", async (redirect_uri) => {
    const host = await register(world.gateway);
    // Also of a request that is wrong otherwise, whose error would go there.
    for (const more of [{}, { response_type: "token" }, { resource: "https://evil.example" }]) {
      const url = authorizeUrl(world.gateway, host, { redirect_uri, ...more });
      const answer = await new Browser().get(url, { "x-forwarded-for": "192.0.2.1" });
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
      expect(answer.headers.get("content-type")).toContain("text/plain");
      expect(answer.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
  });

  it("on loopback may have any port", async () => {
    const host = await register(world.gateway);
    const url = authorizeUrl(world.gateway, host, { redirect_uri: "http://127.0.0.1:1/callback" });
    await expect(new Browser().open(url)).resolves.toMatch(/^[\w-]{43}$/);
  });

  it.each([
    [["http://evil.example/callback"], {}],
    [["javascript:alert(1)"], {}],
    [["data:text/html,x"], {}],
    [["https://app.example/#x"], {}],
    [["https://me@app.example/"], {}],
    [[], {}],
    [Array.from({ length: 11 }, (_, n) => `https://app.example/${n}`), {}],
    [[CALLBACK], { application_type: "web" }],
    [[CALLBACK], { token_endpoint_auth_method: "private_key_jwt" }],
    [[CALLBACK], { grant_types: ["implicit"] }],
    [[CALLBACK], { response_types: ["token"] }],
  ])("is refused at the registration: %j %j", async (redirect_uris, more) => {
    const answer = await askRegistration(world.gateway, { redirect_uris, ...more });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: expect.stringMatching(/^invalid_(redirect_uri|client_metadata)$/),
    });
  });
});

it.each([
  [{ code_challenge: undefined }, "invalid_request"],
  [{ code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
  [{ code_challenge_method: "plain" }, "invalid_request"],
  [{ code_challenge_method: undefined }, "invalid_request"],
  [{ response_type: "token" }, "unsupported_response_type"],
  [{ response_type: "none" }, "unsupported_response_type"],
  [{ resource: "https://other.example/mcp" }, "invalid_target"],
  [{ prompt: "none" }, "consent_required"],
])("an authorization request with %j is refused at the host", async (changed, error) => {
  const host = await register(world.gateway);
  const answer = await new Browser().get(authorizeUrl(world.gateway, host, changed));
  const callback = new URL(answer.headers.get("location") ?? "");
  expect(callback.origin).toBe(new URL(CALLBACK).origin);
  expect(
    Object.fromEntries([...callback.searchParams, ...new URLSearchParams(callback.hash.slice(1))]),
  ).toMatchObject({
    error,
    state: "a-state",
    iss: new URL(world.gateway.consoleUrl).origin,
  });
});

describe("a code", () => {
  it("of another client, verifier or redirect address gives nothing", async () => {
    const host = await register(world.gateway);
    const other = await register(world.gateway);
    const callback = await new Browser().approve(world.gateway, authorizeUrl(world.gateway, host));
    for (const changed of [
      { client_id: other.clientId },
      { code_verifier: other.verifier },
      { code_verifier: "" },
      { redirect_uri: "http://127.0.0.1:1/callback" },
      { resource: "https://other.example/mcp" },
    ]) {
      const { status, error } = await redeem(world.gateway, host, callback, changed);
      expect({ status, error }).toEqual({
        status: 400,
        error: expect.stringMatching(/^invalid_(grant|target)$/),
      });
    }
  });

  it("that is used twice ends the grant", async () => {
    const { host, callback, accessToken, refreshToken } = await connect(world.gateway);
    expect(await use(accessToken)).toBe(200);
    expect(await redeem(world.gateway, host, callback)).toMatchObject({
      status: 400,
      error: "invalid_grant",
    });
    await expect.poll(() => use(accessToken)).toBe(401);
    expect(await refresh(world.gateway, host, refreshToken)).toMatchObject({ error: "invalid_grant" });
  });

  it("that two instances get at once is used by one at most", async () => {
    const host = await register(world.gateway);
    const callback = await new Browser().approve(world.gateway, authorizeUrl(world.gateway, host));
    const answers = await Promise.all(
      [world.gateway, local, world.gateway, local].map((gateway) => redeem(gateway, host, callback)),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThan(2);
    for (const { access_token: token } of answers)
      if (token !== undefined) await expect.poll(() => use(token)).toBe(401);
  });
});

describe("a refresh token", () => {
  it("that is used again after the grace ends the grant", async () => {
    const { host, accessToken, refreshToken } = await connect(world.gateway);
    const { status, ...next } = await refresh(world.gateway, host, refreshToken);
    expect(status).toBe(200);
    await afterGrace();
    expect(await refresh(world.gateway, host, refreshToken)).toMatchObject({ error: "invalid_grant" });
    expect(await refresh(world.gateway, host, next.refresh_token ?? "")).toMatchObject({
      error: "invalid_grant",
    });
    for (const token of [accessToken, next.access_token ?? ""]) await expect.poll(() => use(token)).toBe(401);
  });

  it("whose answer was lost is used again, by its client, until the next one is used", async () => {
    const { host, accessToken, refreshToken } = await connect(world.gateway);
    const other = await register(world.gateway);
    await refresh(world.gateway, host, refreshToken);
    expect(await refresh(local, other, refreshToken)).toMatchObject({ error: "invalid_grant" });
    const again = await refresh(local, host, refreshToken);
    expect(await use(again.access_token ?? "")).toBe(200);
    expect(await refresh(world.gateway, host, again.refresh_token ?? "")).toMatchObject({ status: 200 });
    expect(await refresh(world.gateway, host, refreshToken)).toMatchObject({ error: "invalid_grant" });
    await expect.poll(() => use(accessToken)).toBe(401);
  });

  it("that two processes use at once on two instances gives each a token", async () => {
    const { host, refreshToken } = await connect(world.gateway);
    const answers = await Promise.all(
      [world.gateway, local, world.gateway, local].map((gateway) => refresh(gateway, host, refreshToken)),
    );
    expect(statuses(answers)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map((answer) => answer.refresh_token)).size).toBe(4);
    for (const { access_token: token = "" } of answers) expect(await use(token, local)).toBe(200);
  });

  it("gives no scope that the person did not allow", async () => {
    const { host, refreshToken } = await connect(world.gateway, { decision: { scopes: ["compute:read"] } });
    const wider = await refresh(world.gateway, host, refreshToken, { scope: "compute:read compute:run" });
    expect(wider).toMatchObject({ status: 400, error: "invalid_scope" });
  });
});

describe("a consent", () => {
  it("is neither shown nor given to another browser", async () => {
    const host = await register(world.gateway);
    const id = await new Browser().open(authorizeUrl(world.gateway, host));
    const victim = new Browser();
    expect((await victim.consent(world.gateway, id)).status).toBe(404);
    expect((await victim.decide(world.gateway, id, { approve: true })).status).toBe(404);
  });

  it("needs a session and comes from the console's page", async () => {
    const host = await register(world.gateway);
    const browser = new Browser();
    const id = await browser.open(authorizeUrl(world.gateway, host));
    await browser.signIn(world.gateway);
    for (const foreign of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
      expect((await browser.decide(world.gateway, id, { approve: true }, foreign)).status).toBe(403);
    const cookie = { cookie: `toolgate_connect=${id}` };
    expect((await browser.decide(world.gateway, id, { approve: true }, cookie)).status).toBe(401);
  });

  it.each([
    [{ approve: "yes" }, "approve"],
    [{ approve: true, scopes: ["billing:write"] }, "scopes[0]"],
    [{ approve: true, scopes: [] }, "scopes"],
    [{ approve: true, limits: { day_usdc_microusd: "-1" } }, "limits.day_usdc_microusd"],
    [{ approve: true, limits: { day_usdc_microusd: 0 } }, "limits.day_usdc_microusd"],
    [{ approve: true, limits: { day_usdc_microusd: 0.5 } }, "limits.day_usdc_microusd"],
    [{ approve: true, limits: { expires_at: "2020-01-01T00:00:00Z" } }, "limits.expires_at"],
    [{ approve: true, limits: { tools: ["no_such_tool"] } }, "limits.tools[0]"],
    [{ approve: true, limits: { day: 1 } }, "limits"],
  ])("with %j is refused and names the field", async (decision, field) => {
    const host = await register(world.gateway);
    const browser = new Browser();
    const id = await browser.open(authorizeUrl(world.gateway, host));
    const answer = await browser.decide(world.gateway, id, decision);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining(`${field}:`) }),
    ]);
  });

  it("that two instances get at once makes one key", async () => {
    const host = await register(world.gateway);
    const browser = new Browser();
    const id = await browser.open(authorizeUrl(world.gateway, host));
    await browser.signIn(world.gateway);
    const answers = await Promise.all(
      [world.gateway, local, world.gateway, local].map(async (gateway) =>
        browser.decide(gateway, id, { approve: true }, { origin: new URL(world.gateway.consoleUrl).origin }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const person = await signIn(world, browser.wallet);
    expect((await person.client(KeyService).listKeys({})).keys).toHaveLength(1);
  });

  it("that was refused goes back to the host, and makes no key", async () => {
    const host = await register(world.gateway);
    const browser = new Browser();
    const id = await browser.open(authorizeUrl(world.gateway, host));
    const callback = await browser.back(await browser.decide(world.gateway, id, { approve: false }));
    expect(callback.searchParams.get("error")).toBe("access_denied");
    expect(callback.searchParams.get("code")).toBeNull();
    expect((await browser.decide(world.gateway, id, { approve: true })).status).toBe(404);
  });
});

describe("an access token", () => {
  it("is refused on every instance within a second after its grant was revoked", async () => {
    const { browser, accessToken } = await connect(world.gateway);
    for (const gateway of [world.gateway, local]) expect(await use(accessToken, gateway)).toBe(200);
    const keys = (await signIn(world, browser.wallet)).client(KeyService);
    const [first] = (await keys.listKeys({})).keys;
    await keys.revokeKey({ keyId: first?.key?.keyId ?? "" });
    for (const gateway of [world.gateway, local])
      await expect.poll(() => use(accessToken, gateway), { timeout: 1_000 }).toBe(401);
  });

  it("ends with the key of its grant, and can be revoked by its host only", async () => {
    const expires_at = new Date(Date.now() + 600_000).toISOString();
    const { host, accessToken, refreshToken } = await connect(world.gateway, {
      decision: { limits: { expires_at } },
    });
    const other = await register(world.gateway);
    const revoke = (client_id: string) =>
      fetch(`${world.gateway.baseUrl}/oauth/revoke`, {
        method: "POST",
        body: new URLSearchParams({ token: accessToken, client_id }),
      });
    const { expires_in: seconds } = await refresh(world.gateway, host, refreshToken);
    expect(seconds).toBeLessThanOrEqual(600);
    await revoke(other.clientId);
    expect(await use(accessToken)).toBe(200);
    await revoke(host.clientId);
    await expect.poll(() => use(accessToken)).toBe(401);
  });

  it("is refused when it has expired", async () => {
    const { accessToken } = await connect(world.gateway);
    await query(world.database.url, "update oauth_record set expires_at = now() where model = 'AccessToken'");
    expect(await use(accessToken)).toBe(401);
  });

  it("is refused when it is not stored any more", async () => {
    const { accessToken } = await connect(world.gateway);
    await query(world.database.url, "delete from oauth_record where model = 'AccessToken'");
    expect(await use(accessToken)).toBe(401);
  });

  it("without a scope gets 403 and the scopes to ask for", async () => {
    const { accessToken } = await connect(world.gateway, { decision: { scopes: ["billing:read"] } });
    const answer = await postJson(`${world.gateway.baseUrl}/v1/mcp/tools/call`, CALL, bearer(accessToken));
    expect(answer.status).toBe(403);
    expect(answer.headers.get("www-authenticate")).toMatch(
      /^Bearer error="insufficient_scope", scope="billing:read \w+:\w+"$/,
    );
  });

  it("never has the operator role of its account", async () => {
    const operator = await world.agent({ operator: true });
    const { accessToken } = await connect(world.gateway, { browser: new Browser(operator.wallet) });
    const client = grpcClient(world.gateway.grpcAddress);
    const options = { metadata: bearer(accessToken) };
    const failure = await failureOf(callGrpc(client, OperationsService.method.getStatus, {}, options));
    client.close();
    expect(failure).toMatchObject({ message: expect.stringContaining("operator role") });
  });

  it("never spends more than its grant allows", async () => {
    const third = await world.startAnother({ PUBLIC_URL: world.gateway.baseUrl });
    const payer = await world.agent({ balance: 1_000_000n });
    const { accessToken } = await connect(world.gateway, {
      browser: new Browser(payer.wallet),
      decision: { limits: { day_usdc_microusd: "7500" } },
    });
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, n) =>
        postJson(
          `${[world.gateway, local, third][n % 3]?.baseUrl}/v1/mcp/tools/call`,
          CALL,
          bearer(accessToken),
        ),
      ),
    );
    expect(new Set(statuses(answers))).toEqual(new Set([200, 403]));
    const { rows } = await query(
      world.database.url,
      `select coalesce(sum(debited), 0)::int as spent from receipt
       where account_id = '${payer.accountId.slice(5)}'::uuid`,
    );
    expect(rows).toEqual([{ spent: 7000 }]);
  });
});

it("registrations stay bounded in rows, and by address", async () => {
  await query(
    world.database.url,
    `insert into oauth_record (id, model, payload, expires_at)
     select sha256(n::text::bytea), 'Client', '{}', now() + interval '1 hour'
     from generate_series(1, 6000) n`,
  );
  const { clientId } = await register(world.gateway);
  const { rows } = await query(
    world.database.url,
    "select count(*)::int as clients from oauth_record where model = 'Client' and expires_at < 'infinity'",
  );
  expect(rows).toEqual([{ clients: 5000 }]);
  expect(clientId).toMatch(/^oac_/);
  const answers = await Promise.all(
    Array.from({ length: 30 }, () =>
      postJson(`${world.gateway.baseUrl}/oauth/register`, {}, { "x-forwarded-for": "192.0.2.7" }),
    ),
  );
  expect(statuses(answers)).toContain(429);
  const long = { clientId, verifier: "v" };
  const asked = await fetch(authorizeUrl(world.gateway, long, { state: "x".repeat(4_096) }));
  expect(await asked.json()).toMatchObject({ code: "INVALID_REQUEST" });
  const large = { client_name: "x".repeat(20_000) };
  expect((await askRegistration(world.gateway, large)).status).toBe(413);
});
