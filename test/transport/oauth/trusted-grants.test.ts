import {
  Client,
  ClientCredentialsProvider,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KeyService } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { Gateway } from "../../../src/gateway.ts";
import { signIn } from "../../support/console.ts";
import { restartPort } from "../../support/ports.ts";
import { secret } from "../../support/record.ts";
import { useWorld } from "../../support/use-world.ts";
import type { Agent } from "../../support/world.ts";
import { register } from "./browser.ts";
import { IDP_CLIENT, type Idp, seconds, type Signing, startIdp } from "./idp.ts";

const world = useWorld();
let idp: Idp;
let owner: Agent;
let bot: Agent;
let gateway: Gateway;
let second: { readonly baseUrl: string };
let signer: Awaited<ReturnType<typeof generateKeyPair>>;
let issuer: string;

const DESKTOP = secret("a client's secret", "the desktop application's secret, which is long");
const BOT = secret("another client's secret", "the bot's secret, which is long enough");

beforeAll(async () => {
  [idp, owner, bot, signer] = await Promise.all([
    startIdp(),
    world.agent(),
    world.agent(),
    generateKeyPair("ES256", { extractable: true }),
  ]);
  const clients = [
    { client_id: "desktop", client_secret: DESKTOP },
    {
      client_id: "bot",
      name: "The bot",
      client_secret: BOT,
      account: bot.accountId,
      scopes: ["compute:read"],
    },
    { client_id: "signer", jwks: { keys: [await exportJWK(signer.publicKey)] }, account: bot.accountId },
  ];
  const settings = {
    TRUSTED_PROXY_HOPS: "1",
    OAUTH_ISSUERS: JSON.stringify([{ issuer: idp.issuer, account: owner.accountId }]),
    OAUTH_CLIENTS: JSON.stringify(clients),
  };
  gateway = await world.startAnother(settings);
  issuer = new URL(gateway.consoleUrl).origin;
  const port = String(await restartPort());
  const { baseUrl: PUBLIC_URL } = gateway;
  await world.startAnother({ ...settings, PUBLIC_URL, PORT: port, CONSOLE_URL: gateway.consoleUrl });
  second = { baseUrl: `http://127.0.0.1:${port}` };
});
afterAll(() => idp.close());

type Parameters = Readonly<Record<string, string>>;

async function ask(
  parameters: Parameters,
  client = ["desktop", DESKTOP],
  { baseUrl }: { baseUrl: string } = gateway,
) {
  const answer = await fetch(`${baseUrl}/oauth/token`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(client.map(encodeURIComponent).join(":")).toString("base64")}`,
    },
    body: new URLSearchParams(parameters),
  });
  const body: { access_token?: string; error?: string } = JSON.parse(await answer.text());
  if (body.access_token !== undefined) secret("a token", body.access_token);
  return { status: answer.status, ...body };
}

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const exchange = (assertion: string, more: Parameters = {}, client?: string[], at?: { baseUrl: string }) =>
  ask({ grant_type: JWT_BEARER, assertion, ...more }, client, at);
const assertion = (claims: object = {}, signing?: Signing) =>
  idp.assertion({ aud: issuer, client_id: "desktop", ...claims }, signing);

async function use(token: string, path = "/receipts", { baseUrl }: { baseUrl: string } = gateway) {
  return (await fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } })).status;
}

async function toolsWith(authProvider: OAuthClientProvider): Promise<number> {
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.baseUrl}/mcp`), { authProvider }),
  );
  const { tools } = await client.listTools();
  await client.close();
  return tools.length;
}

describe("the MCP SDK", () => {
  it("signs in with its own provider for client credentials", async () => {
    const own = { clientId: "bot", clientSecret: BOT, expectedIssuer: issuer };
    expect(await toolsWith(new ClientCredentialsProvider(own))).toBeGreaterThan(0);
  });

  it("signs in with its own provider for signed assertions of a client", async () => {
    const privateKey = { ...(await exportJWK(signer.privateKey)) };
    const own = { clientId: "signer", privateKey, algorithm: "ES256", expectedIssuer: issuer };
    expect(await toolsWith(new PrivateKeyJwtProvider(own))).toBeGreaterThan(0);
  });

  it("signs in with its own provider for enterprise-managed authorization", async () => {
    const idToken = await idp.sign({ aud: IDP_CLIENT.id }, { header: { typ: "JWT" } });
    const provider = new CrossAppAccessProvider({
      clientId: "desktop",
      clientSecret: DESKTOP,
      expectedIssuer: issuer,
      assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
        const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
          idpUrl: idp.issuer,
          audience: authorizationServerUrl,
          resource: resourceUrl,
          idToken,
          clientId: IDP_CLIENT.id,
          clientSecret: IDP_CLIENT.secret,
          ...(scope !== undefined && { scope }),
        });
        return jwtAuthGrant;
      },
    });
    expect(await toolsWith(provider)).toBeGreaterThan(0);
    const { keys } = await (await signIn(world, owner.wallet)).client(KeyService).listKeys({});
    expect(keys.map(({ key }) => key?.client?.clientId)).toContain(idp.issuer);
  });
});

describe("an assertion of a trusted issuer", () => {
  it("gives a token without a refresh token, with fewer scopes if it or the request has fewer", async () => {
    const { status, ...answer } = await exchange(await assertion({ scope: "compute:read billing:read" }), {
      scope: "billing:read compute:run",
    });
    expect({ status, answer }).toEqual({
      status: 200,
      answer: {
        access_token: expect.any(String),
        expires_in: 3600,
        scope: "billing:read",
        token_type: "Bearer",
      },
    });
    expect(await use(answer.access_token ?? "")).toBe(200);
  });

  it("is used once, also on two instances at once", async () => {
    const once = await assertion();
    const answers = await Promise.all(
      [gateway, second, gateway, second].map((at) => exchange(once, {}, undefined, at)),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
    expect(await exchange(once)).toMatchObject({ error: "invalid_grant" });
  });

  it.each<[title: string, assertion: () => Promise<string>, says: string]>([
    ["is of another client", () => assertion({ client_id: "bot" }), "another client"],
    ["names no client", () => assertion({ client_id: undefined }), "another client"],
    ["has another audience", () => assertion({ aud: "https://other.example" }), "another audience"],
    ["is for the resource", () => assertion({ aud: `${gateway.baseUrl}/mcp` }), "another audience"],
    ["has no jti", () => assertion({ jti: undefined }), "has no jti"],
    ["lives long", () => assertion({ exp: seconds() + 900 }), "longer than 600 s"],
    ["does not say when it was issued", () => assertion({ iat: undefined }), "longer than 600 s"],
    ["has expired", () => assertion({ iat: seconds() - 400, exp: seconds() - 61 }), "has expired"],
    ["is an access token", () => assertion({}, { header: { typ: "at+jwt" } }), "another type"],
    ["is of an unknown issuer", () => assertion({ iss: "https://evil.example" }), "does not trust"],
    ["is signed with an unknown key", () => assertion({}, { header: { kid: "other" } }), "not signed"],
  ])("that %s is refused", async (_title, made, says) => {
    expect(await exchange(await made())).toMatchObject({
      status: 400,
      error: "invalid_grant",
      error_description: expect.stringContaining(says),
    });
  });

  it.each([
    [{ resource: "https://other.example/mcp" }, {}],
    [{}, { resource: "https://other.example/mcp" }],
  ])("for another resource is refused: %j %j", async (claims, more) => {
    expect(await exchange(await assertion(claims), more)).toMatchObject({ error: "invalid_target" });
  });

  it("of a subject whose grant was revoked is refused, and so are its tokens", async () => {
    const { access_token: token = "" } = await exchange(await assertion({ sub: "leaver" }));
    expect(await use(token)).toBe(200);
    const keys = (await signIn(world, owner.wallet)).client(KeyService);
    const key = (await keys.listKeys({})).keys.find((one) => one.key?.name === "leaver");
    await keys.revokeKey({ keyId: key?.key?.keyId ?? "" });
    await expect.poll(() => use(token), { timeout: 1_000 }).toBe(401);
    expect(await exchange(await assertion({ sub: "leaver" }))).toMatchObject({ error: "invalid_grant" });
  });
});

describe("a client of the operator", () => {
  it("gets its tokens with its secret in the body too, and no scope that was not allowed", async () => {
    const answer = await fetch(`${gateway.baseUrl}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams({ grant_type: "client_credentials", client_id: "bot", client_secret: BOT }),
    });
    expect(await answer.json()).toMatchObject({ scope: "compute:read" });
    const wider = { grant_type: "client_credentials", scope: "billing:read" };
    expect(await ask(wider, ["bot", BOT])).toMatchObject({ status: 400, error: "invalid_scope" });
    const { keys } = await (await signIn(world, bot.wallet)).client(KeyService).listKeys({});
    expect(keys.filter(({ key }) => key?.client?.clientId === "bot")).toHaveLength(1);
  });

  it("ends a token on every instance, and gets others", async () => {
    const credentials = { grant_type: "client_credentials" };
    const { access_token: token = "" } = await ask(credentials, ["bot", BOT]);
    const models = "/openai/v1/models";
    for (const at of [gateway, second]) expect(await use(token, models, at)).toBe(200);
    await fetch(`${gateway.baseUrl}/oauth/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token, client_id: "bot", client_secret: BOT }),
    });
    for (const at of [gateway, second])
      await expect.poll(() => use(token, models, at), { timeout: 1_000 }).toBe(401);
    const { access_token: next = "" } = await ask(credentials, ["bot", BOT]);
    expect(await use(next, models)).toBe(200);
  });

  it.each([
    ["with a wrong secret", ["bot", DESKTOP], "invalid_client"],
    ["that is unknown", ["nobody", BOT], "invalid_client"],
    ["without an account", ["desktop", DESKTOP], "invalid_request"],
  ])("%s gets none", async (_title, client, error) => {
    expect(await ask({ grant_type: "client_credentials" }, client)).toMatchObject({ error });
  });

  it("is none that registered itself", async () => {
    const { clientId } = await register(gateway, { grant_types: ["authorization_code", JWT_BEARER] });
    const parameters = { grant_type: JWT_BEARER, client_id: clientId, assertion: await assertion() };
    const answer = await fetch(`${gateway.baseUrl}/oauth/token`, {
      method: "POST",
      body: new URLSearchParams(parameters),
    });
    expect(await answer.json()).toMatchObject({ error: "invalid_request" });
  });
});

it("hosts find the grants in the metadata, where they are on", async () => {
  const metadata = async (at: { baseUrl: string }) =>
    (await fetch(`${at.baseUrl}/.well-known/oauth-authorization-server`)).json();
  expect(await metadata(gateway)).toMatchObject({
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials", JWT_BEARER],
    authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
    token_endpoint_auth_methods_supported: expect.arrayContaining(["private_key_jwt"]),
  });
  expect(await metadata(world.gateway)).toMatchObject({
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
  });
});
