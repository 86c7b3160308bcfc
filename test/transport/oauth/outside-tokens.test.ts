import { exportJWK, exportSPKI, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import type { Gateway } from "../../../src/gateway.ts";
import { uniqueAddress } from "../../console-server/anonymous-client.ts";
import { signIn } from "../../support/console.ts";
import { restartPort } from "../../support/ports.ts";
import { useWorld } from "../../support/use-world.ts";
import type { Agent } from "../../support/world.ts";
import { callGrpc, grpcClient } from "../grpc-client.ts";
import { postJson } from "./browser.ts";
import { IDP_CLIENT, type Idp, seconds, startIdp } from "./idp.ts";

const world = useWorld();
let idp: Idp;
let teams: Idp;
let owner: Agent;
let team: Agent;
let gateway: Gateway;
/** Another instance of the same address. */
let second: { readonly baseUrl: string };

beforeAll(async () => {
  [idp, teams, owner, team] = await Promise.all([
    startIdp(),
    startIdp("teams-1"),
    world.agent({ balance: 1_000_000n }),
    world.agent(),
  ]);
  const settings = {
    TRUSTED_PROXY_HOPS: "1",
    OAUTH_ISSUERS: JSON.stringify([
      { issuer: idp.issuer, account: owner.accountId, limits: { day_usdc_microusd: 5_000 } },
      {
        issuer: teams.issuer,
        clients: ["app"],
        claim: "team",
        accounts: { red: team.accountId, gone: "acct_01890a5dac96774bbcceb302099a8057" },
      },
    ]),
  };
  gateway = await world.startAnother(settings);
  const port = String(await restartPort());
  await world.startAnother({ ...settings, PUBLIC_URL: gateway.baseUrl, PORT: port });
  second = { baseUrl: `http://127.0.0.1:${port}` };
});
afterAll(() => Promise.all([idp, teams].map((one) => one.close())));

const CALL = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };
const bearer = (token: string) => ({ authorization: `Bearer ${token}`, ...uniqueAddress() });
const here = (claims: object = {}) => ({ aud: `${gateway.baseUrl}/mcp`, ...claims });

async function use(token: string, { baseUrl }: { baseUrl: string } = gateway) {
  const answer = await fetch(`${baseUrl}/receipts`, { headers: bearer(token) });
  const { message }: { message?: string } = JSON.parse(await answer.text());
  return { status: answer.status, message };
}

const keysOf = async ({ wallet }: Agent) => (await signIn(world, wallet)).client(KeyService);

describe("a token of a trusted issuer", () => {
  it("works on every route and protocol", async () => {
    const token = await idp.sign(here());
    const headers = bearer(token);
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const accept = { accept: "application/json, text/event-stream" };
    const client = grpcClient(gateway.grpcAddress);
    const runs = await callGrpc(client, RunService.method.listRuns, {}, { metadata: bearer(token) });
    client.close();
    const answers = await Promise.all([
      postJson(`${gateway.baseUrl}/mcp`, list, { ...headers, ...accept }),
      postJson(`${gateway.baseUrl}/v1/mcp/tools/call`, CALL, headers),
      postJson(`${gateway.baseUrl}/toolgate.v1.RunService/ListRuns`, {}, headers),
      ...["/openai/v1/models", "/receipts", "/runs"].map((path) =>
        fetch(gateway.baseUrl + path, { headers }),
      ),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(runs).toBeDefined();
  });

  it("is issued by a real provider, for an application", async () => {
    const answer = await fetch(`${idp.issuer}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "client_credentials",
        client_id: IDP_CLIENT.id,
        client_secret: IDP_CLIENT.secret,
        resource: `${gateway.baseUrl}/mcp`,
        scope: "compute:read",
      }),
    });
    const { access_token: token }: { access_token: string } = JSON.parse(await answer.text());
    expect(await use(token)).toMatchObject({ status: 403 });
    expect((await postJson(`${gateway.baseUrl}/v1/mcp/tools/call`, CALL, bearer(token))).status).toBe(200);
  });

  it("makes one grant on first use, with the operator's limits, also on two instances at once", async () => {
    const tokens = await Promise.all([1, 2, 3, 4].map((jti) => idp.sign(here({ sub: "first", jti }))));
    const answers = await Promise.all(tokens.map((token, n) => use(token, n % 2 === 0 ? gateway : second)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { keys } = await (await keysOf(owner)).listKeys({});
    expect(keys.map(({ key }) => key).filter((key) => key?.name === "first")).toMatchObject([
      {
        limits: { dayUsdcMicrousd: 5_000n },
        client: { clientId: idp.issuer, name: "first", host: new URL(idp.issuer).host, verified: true },
      },
    ]);
  });

  it("is refused everywhere within a second after its grant was revoked, and so is every later one", async () => {
    const token = await idp.sign(here({ sub: "leaver" }));
    for (const instance of [gateway, second]) expect((await use(token, instance)).status).toBe(200);
    const keys = await keysOf(owner);
    const key = (await keys.listKeys({})).keys.find((one) => one.key?.name === "leaver");
    await keys.revokeKey({ keyId: key?.key?.keyId ?? "" });
    const status = async (instance: { baseUrl: string }) => (await use(token, instance)).status;
    for (const instance of [gateway, second])
      await expect.poll(() => status(instance), { timeout: 1_000 }).toBe(401);
    const later = await use(await idp.sign(here({ sub: "leaver", jti: "later" })));
    expect(later).toMatchObject({ status: 401, message: expect.stringContaining("was revoked") });
    expect((await use(await idp.sign(here({ sub: "stayer" })))).status).toBe(200);
  });

  it("is accepted for a minute longer, as clocks differ", async () => {
    const token = await idp.sign(here({ exp: seconds() - 30, nbf: seconds() + 30 }));
    expect((await use(token)).status).toBe(200);
  });

  it("calls for the account that its claim selects", async () => {
    const token = await teams.sign(here({ sub: "bob", team: "red", azp: "app" }), kidOf(teams));
    expect((await use(token)).status).toBe(200);
    const { keys } = await (await keysOf(team)).listKeys({});
    expect(keys.map(({ key }) => key?.client?.clientId)).toContain(teams.issuer);
  });

  it("of a blocked account is refused as its keys are", async () => {
    const token = await teams.sign(here({ sub: "bob", team: "red", azp: "app" }), kidOf(teams));
    const { accounts } = world.postgres;
    await accounts.setBlocked(team.accountId, { blocked: true, reason: "unpaid" });
    await expect.poll(async () => (await use(token)).status).toBe(403);
    await accounts.setBlocked(team.accountId, { blocked: false, reason: "" });
    await expect.poll(async () => (await use(token)).status).toBe(200);
  });
});

const kidOf = (one: Idp) => ({ header: { kid: one === teams ? "teams-1" : "key-1" } });
const part = (json: object) => Buffer.from(JSON.stringify(json)).toString("base64url");

it.each<[title: string, token: () => Promise<string> | string, says: string]>([
  ["is not signed", () => unsigned(), "an algorithm that is not allowed"],
  [
    "is signed with the public key as a secret",
    async () =>
      idp.sign(here(), {
        header: { alg: "HS256" },
        key: new TextEncoder().encode(await exportSPKI(idp.publicKey)),
      }),
    "an algorithm that is not allowed",
  ],
  [
    "is signed with another key of the same name",
    async () => idp.sign(here(), await stranger()),
    "not signed",
  ],
  [
    "brings its own key",
    async () => {
      const { key, publicKey } = await stranger();
      return idp.sign(here(), { key, header: { kid: undefined, jwk: await exportJWK(publicKey) } });
    },
    "not signed",
  ],
  ["is signed by another trusted issuer", () => idp.sign(here({ iss: teams.issuer })), "not signed"],
  ["has another issuer", () => idp.sign(here({ iss: "https://evil.example" })), "does not trust"],
  ["has another audience", () => idp.sign({ aud: "https://other.example/mcp" }), "another audience"],
  ["has no audience", () => idp.sign(), "has no aud"],
  ["has expired", () => idp.sign(here({ exp: seconds() - 61 })), "has expired"],
  ["never expires", () => idp.sign(here({ exp: undefined })), "has no exp"],
  ["is not valid yet", () => idp.sign(here({ nbf: seconds() + 120 })), "not valid yet"],
  ["has no subject", () => idp.sign(here({ sub: undefined })), "has no sub"],
  ["is an assertion", () => idp.assertion(here()), "another type"],
  ["is bound to a certificate", () => idp.sign(here({ cnf: { "x5t#S256": "x" } })), "bound to something"],
  ["is bound to a key", () => idp.sign(here({ cnf: { jkt: "x" } })), "DPoP"],
  ["names no application", () => ofTeam({ azp: undefined }), "not allowed"],
  ["is of another application", () => ofTeam({ azp: "other" }), "not allowed"],
  ["names two applications", () => ofTeam({ client_id: "other" }), "not allowed"],
  ["lacks the claim of the account", () => ofTeam({ team: undefined }), "has no team"],
  ["has a list as the claim of the account", () => ofTeam({ team: ["red"] }), "has no team"],
  ["selects an account that does not exist", () => ofTeam({ team: "gone" }), "there is no such account"],
  ["has a claim without an account", () => ofTeam({ team: "constructor" }), "without an account"],
])("a token that %s is refused, and the answer says why", async (_title, token, says) => {
  const { status, message } = await use(await token());
  expect({ status, message }).toEqual({ status: 401, message: expect.stringContaining(says) });
});

it("tokens with unknown keys make the gateway read the keys once at most", async () => {
  await use(await idp.sign(here()));
  const before = idp.keyRequests();
  const tokens = await Promise.all(
    Array.from({ length: 40 }, (_, n) => idp.sign(here(), { header: { kid: `unknown-${n}` } })),
  );
  const answers = await Promise.all(tokens.map((token) => use(token)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
  expect(idp.keyRequests() - before).toBeLessThanOrEqual(1);
});

it("a new subject is refused where the operator turned first use off, and an old one is not", async () => {
  await use(await idp.sign(here({ sub: "old" })));
  const issuers = [{ issuer: idp.issuer, account: owner.accountId, first_use: false }];
  const closed = await world.startAnother({ OAUTH_ISSUERS: JSON.stringify(issuers) });
  const status = async (sub: string) =>
    (await use(await idp.sign({ aud: closed.baseUrl, sub }), closed)).status;
  expect([await status("old"), await status("new")]).toEqual([200, 401]);
});

it("hosts learn of the issuers, and where OAuth is off of them alone", async () => {
  const resource = async ({ baseUrl }: { baseUrl: string }) =>
    (await fetch(`${baseUrl}/.well-known/oauth-protected-resource/mcp`)).json();
  const own = new URL(gateway.consoleUrl).origin;
  const named = { authorization_servers: [own, idp.issuer, teams.issuer] };
  expect(await resource(gateway)).toMatchObject(named);
  const issuers = JSON.stringify([{ issuer: idp.issuer, account: owner.accountId }]);
  const off = await world.startAnother({ OAUTH: "off", OAUTH_ISSUERS: issuers });
  expect(await resource(off)).toMatchObject({ authorization_servers: [idp.issuer] });
  expect((await fetch(`${off.baseUrl}/oauth/token`, { method: "POST" })).status).toBe(404);
  expect((await use(await idp.sign({ aud: off.baseUrl }), off)).status).toBe(200);
});

const ofTeam = (claims: object) =>
  teams.sign(here({ sub: "bob", team: "red", azp: "app", ...claims }), kidOf(teams));

function unsigned(): string {
  const claims = { iss: idp.issuer, sub: "alice", exp: seconds() + 300, ...here() };
  return `${part({ alg: "none", typ: "at+jwt" })}.${part(claims)}.`;
}

async function stranger() {
  const { privateKey: key, publicKey } = await generateKeyPair("RS256");
  return { key, publicKey };
}
