import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { LimitReachedError } from "../../../src/app/calls/call-errors.ts";
import { RequestRecord } from "../../../src/app/operations/request-record.ts";
import { walletCaller } from "../../../src/domain/accounts/caller.ts";
import { fingerprint } from "../../../src/domain/calls/call-context.ts";
import { failureOf } from "../../../src/transport/error-details.ts";
import { CallApprovals } from "../../../src/transport/mcp/call-approvals.ts";
import { newUrlSession } from "../../../src/transport/mcp/elicitation.ts";
import { signIn } from "../../support/console.ts";
import { useWorld } from "../../support/use-world.ts";
import { Browser, connect, type Decision } from "./browser.ts";

const world = useWorld({ TRUSTED_PROXY_HOPS: "1" });

/** Costs $0.001. */
const estimate = (batch_size: number) => ({
  name: "vram_estimate",
  arguments: { parameters_b: 7, batch_size },
});

/** An application whose limits refuse each call, and its person. */
async function limitedApp(limits: Decision = { day_usdc_microusd: "999" }) {
  const payer = await world.agent({ balance: 1_000_000n });
  const browser = new Browser(payer.wallet);
  const { accessToken } = await connect(world.gateway, { browser, decision: { name: "Desktop", limits } });
  const answer = (id: string, body?: Decision, headers?: Record<string, string>) =>
    browser.ask(world.gateway, `approval/${id}`, body, headers);
  return { payer, browser, accessToken, answer };
}

const endpoint = () => new URL(`${world.gateway.baseUrl}/mcp`);
const requestInit = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const ME = { name: "host", version: "1.0.0" };

async function secondClient(token: string, elicit?: (url: string) => Promise<"accept" | "decline">) {
  const client = new Client(ME, {
    versionNegotiation: { mode: { pin: "2026-07-28" } },
    capabilities: elicit ? { elicitation: { url: {} } } : {},
  });
  if (elicit)
    client.setRequestHandler("elicitation/create", async ({ params }) => ({
      action: await elicit("url" in params ? params.url : ""),
    }));
  await client.connect(new StreamableHTTPClientTransport(endpoint(), { requestInit: requestInit(token) }));
  onTestFinished(() => client.close());
  return client;
}

async function firstClient(token: string) {
  const client = new FirstClient(ME, { capabilities: { elicitation: { url: {} } } });
  await client.connect(new FirstTransport(endpoint(), { requestInit: requestInit(token) }));
  onTestFinished(() => client.close());
  return client;
}

/** A call by a client that opens no addresses. */
function plainCall(token: string, call: object = estimate(1)) {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: call };
  return world.post(undefined, "/mcp", body, { authorization: `Bearer ${token}` });
}

const LIMIT = {
  period: "day",
  group: undefined,
  limit: 999n,
  spent: 0n,
  resetsAt: undefined,
  reported: true,
} as const;

/** A call that was asked for, as the gateway knows it. */
async function refusalOf(token: string, browser: Browser) {
  const { body } = await plainCall(token);
  const keys = (await signIn(world, browser.wallet)).client(KeyService);
  const listed = (await keys.listKeys({})).keys.find(({ key }) => key?.client !== undefined);
  const keyId = listed?.key?.keyId ?? "";
  const caller = { ...walletCaller(browser.wallet.publicKey.toBase58()), keyId, viaOAuth: true };
  const { name: tool, arguments: params } = estimate(1);
  const url: string = body.error.data.limit.approval_url;
  return { url, call: { tool, price: 1_000n, caller, fingerprint: fingerprint(tool, params) } };
}

const idOf = (url: string) => url.slice(url.lastIndexOf("/") + 1);
const RESULT = { structuredContent: { total: expect.anything() } };

describe("a client of 2026-07-28", () => {
  it("is sent to the page once, and its call goes on by itself when the person decides later", async () => {
    const { accessToken, answer, payer } = await limitedApp();
    const opened: string[] = [];
    const client = await secondClient(accessToken, async (url) => {
      opened.push(url);
      return "accept";
    });
    const calling = client.callTool(estimate(1));
    await expect.poll(() => opened.length).toBe(1);
    const [url = ""] = opened;
    expect(url).toMatch(new RegExp(`^${world.gateway.consoleUrl}/approve/[\\w-]{43}$`));
    const shown = await (await answer(idOf(url))).json();
    expect(shown).toEqual({
      client: { name: "Desktop", host: expect.stringContaining("127.0.0.1"), verified: false },
      tool: "vram_estimate",
      params: '{"parameters_b":7,"batch_size":1}',
      price_usdc_microusd: "1000",
      state: "asked",
      expires_at: expect.stringMatching(/Z$/),
      limits: [{ field: "day_usdc_microusd", limit_usdc_microusd: "999", spent_usdc_microusd: "0" }],
    });
    expect((await answer(idOf(url), { decision: "allow" })).status).toBe(200);
    expect(await calling).toMatchObject(RESULT);
    expect(opened).toHaveLength(1);
    expect(await world.postgres.ledger.balance(payer.accountId)).toBe(999_000n);
    expect((await answer(idOf(url))).status).toBe(404);
  });

  it.each(["declines", "is refused"])("that %s gets the error", async (what) => {
    const { accessToken, answer } = await limitedApp();
    const client = await secondClient(accessToken, async (url) => {
      if (what === "declines") return "decline";
      await answer(idOf(url), { decision: "refuse" });
      return "accept";
    });
    await expect(client.callTool(estimate(1))).rejects.toThrow(
      what === "declines" ? /can allow this call at http/ : /The account holder refused this call/,
    );
  });
});

it("a client of 2025-11-25 gets the page as an error, and its repeated call waits for the decision", async () => {
  const { accessToken, answer } = await limitedApp({ call_usdc_microusd: "1" });
  const client = await firstClient(accessToken);
  const refused: unknown = await client.callTool(estimate(1)).catch((error: unknown) => error);
  if (!(refused instanceof UrlElicitationRequiredError)) throw new Error(`not asked: ${String(refused)}`);
  expect(refused.data).toMatchObject({ elicitations: [{ mode: "url", message: expect.any(String) }] });
  const [page] = refused.elicitations;
  expect(page?.url).toBe(`${world.gateway.consoleUrl}/approve/${page?.elicitationId}`);
  const repeated = client.callTool(estimate(1));
  await answer(page?.elicitationId ?? "", { decision: "allow" });
  expect(await repeated).toMatchObject(RESULT);
});

it("a client that opens no addresses gets the page's address, and passes once after it was allowed", async () => {
  const { accessToken, answer } = await limitedApp();
  const refused = await plainCall(accessToken);
  const url: string = refused.body.error.data.limit.approval_url;
  expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN", error: { code: 403 } } });
  expect(refused.body.message).toMatch(
    /^the application’s grant may take \$0\.000999 a day from the balance/,
  );
  expect(refused.body.message).toContain(url);
  await answer(idOf(url), { decision: "allow" });
  expect((await plainCall(accessToken)).body.result).toMatchObject(RESULT);
  expect((await plainCall(accessToken)).status).toBe(403);
});

it.each([
  ["2025-11-25", "legacy", {}, undefined],
  ["2026-07-28", "modern", { inputResponses: { approval: { action: "accept" } } }, "input_required"],
] as const)(
  "a repeated call of %s asks again without a decision in time",
  async (version, era, more, resultType) => {
    const { accessToken, browser } = await limitedApp();
    const { url, call } = await refusalOf(accessToken, browser);
    const approvals = new CallApprovals(world.postgres.approvals, () => url, 1);
    const asking = {
      message: {
        id: 1,
        method: "tools/call",
        params: {
          ...more,
          _meta: { "io.modelcontextprotocol/clientCapabilities": { elicitation: { url: {} } } },
        },
      },
      params: {},
      era,
      exchange: {
        record: new RequestRecord("mcp", "req_1", 0),
        headers: { "mcp-session-id": newUrlSession() },
        version,
        elicitation: undefined,
        context: { signal: new AbortController().signal, requestId: "req_1" },
      },
      pipeline: { failure: (error: unknown) => failureOf(error, "req_1", { error: () => {} }) },
    };
    const answer = approvals.result(asking, async () => {
      throw new LimitReachedError(call, LIMIT);
    });
    if (resultType) expect(await answer).toEqual({ resultType, requestState: idOf(url) });
    else await expect(answer).rejects.toMatchObject({ approvalUrl: url });
    expect(asking.exchange.elicitation !== undefined).toBe(era === "legacy");
  },
);

it("asks for no more than five calls of an application at once", async () => {
  const { accessToken } = await limitedApp();
  const limits = [];
  for (let batch = 1; batch <= 6; batch++)
    limits.push((await plainCall(accessToken, estimate(batch))).body.error.data.limit);
  expect(limits.map((limit) => "approval_url" in limit)).toEqual([true, true, true, true, true, false]);
});

it("API keys, and groups of them, get today’s error", async () => {
  const { payer, browser, accessToken } = await limitedApp({});
  const keys = (await signIn(world, browser.wallet)).client(KeyService);
  const limits = { dayUsdcMicrousd: 1n };
  const { group } = await keys.createKeyGroup({ name: "CI", limits });
  const listed = (await keys.listKeys({})).keys.find(({ key }) => key?.client !== undefined);
  await keys.updateKey({ keyId: listed?.key?.keyId ?? "", groupId: group?.groupId ?? "" });
  const { secret } = await keys.createKey({ name: "own", limits });
  for (const [token, words] of [
    [accessToken, "the keys of the group “CI”"],
    [secret, "the API key"],
  ] as const) {
    await expect.poll(async () => (await plainCall(token)).body.message).toContain(`${words} may take`);
    expect((await plainCall(token)).body.error.data.limit).not.toHaveProperty("approval_url");
  }
  expect(payer.accountId).toMatch(/^acct_/);
});

describe("the page", () => {
  async function asked() {
    const app = await limitedApp();
    const { body } = await plainCall(app.accessToken);
    return { ...app, id: idOf(body.error.data.limit.approval_url) };
  }

  it("shows and decides nothing without a session of the account, on the console’s own page", async () => {
    const { id, answer } = await asked();
    const stranger = new Browser();
    for (const body of [undefined, { decision: "allow" }]) {
      expect((await stranger.ask(world.gateway, `approval/${id}`, body)).status).toBe(404);
      expect((await answer(id, body, { cookie: "" })).status).toBe(401);
      for (const foreign of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
        expect((await answer(id, body, foreign)).status).toBe(403);
    }
    const { state } = (await (await answer(id)).json()) as { state: string };
    expect(state).toBe("asked");
    const page = await fetch(`${world.gateway.consoleUrl}/approve/${id}`);
    expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });

  it.each([
    [{ decision: "yes" }, "decision"],
    [{ decision: "allow", limits: {} }, ""],
    [{ decision: "raise" }, "limits"],
    [{ decision: "raise", limits: {} }, "limits"],
    [{ decision: "raise", limits: { day_usdc_microusd: "999" } }, "limits.day_usdc_microusd"],
    [{ decision: "raise", limits: { month_usdc_microusd: "5000" } }, "limits.month_usdc_microusd"],
  ])("refuses %j and names the field", async (decision, field) => {
    const { id, answer } = await asked();
    const refused = await answer(id, decision);
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining(field) }),
    ]);
  });

  it("raises a limit, after which calls need no permission", async () => {
    const { id, answer, accessToken } = await asked();
    const raised = await answer(id, { decision: "raise", limits: { day_usdc_microusd: "2000" } });
    expect(await raised.json()).toEqual({ state: "raised" });
    await expect.poll(async () => (await plainCall(accessToken)).status).toBe(200);
    expect((await answer(id)).status).toBe(404);
  });

  it("is over when the application is disconnected", async () => {
    const { id, answer, browser } = await asked();
    const keys = (await signIn(world, browser.wallet)).client(KeyService);
    for (const { key } of (await keys.listKeys({})).keys)
      if (key?.client) await keys.revokeKey({ keyId: key.keyId });
    expect((await answer(id, { decision: "allow" })).status).toBe(404);
  });
});
