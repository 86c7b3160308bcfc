import { once } from "node:events";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { UnauthorizedError as FirstUnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { expect, it } from "vitest";
import { restartPort } from "../support/ports.ts";
import { useWorld } from "../support/use-world.ts";
import { authorizeUrl, Browser, CALLBACK, register } from "../transport/oauth/browser.ts";

/** Programs that know only the address of /mcp, and a person with a wallet. */

const world = useWorld();
const ME = { name: "test", version: "1.0.0" };

/** What a host of the SDKs keeps, in memory. */
class HostStore {
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = {
    client_name: "SDK host",
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: "none",
  };
  /** Where the person is sent to. */
  asked: URL | undefined;
  readonly #kept = new Map<string, unknown>();

  state = () => "a-state";
  clientInformation = () => this.#kept.get("client") as never;
  saveClientInformation = (client: unknown) => void this.#kept.set("client", client);
  tokens = () => this.#kept.get("tokens") as never;
  saveTokens = (tokens: unknown) => void this.#kept.set("tokens", tokens);
  redirectToAuthorization = (url: URL) => void (this.asked = url);
  saveCodeVerifier = (verifier: string) => void this.#kept.set("verifier", verifier);
  codeVerifier = () => String(this.#kept.get("verifier"));
  discoveryState = () => this.#kept.get("discovery") as never;
  saveDiscoveryState = (state: unknown) => void this.#kept.set("discovery", state);
}

const address = () => new URL(`${world.gateway.baseUrl}/mcp`);
const approve = (url: URL | undefined) => new Browser().approve(world.gateway, url ?? "");

it("the SDK 1.x signs in with its own OAuth client", async () => {
  const store = new HostStore();
  const open = () => new FirstTransport(address(), { authProvider: store });
  const first = open();
  await expect(new FirstClient(ME).connect(first)).rejects.toThrow(FirstUnauthorizedError);
  await first.finishAuth((await approve(store.asked)).searchParams.get("code") ?? "");
  const client = new FirstClient(ME);
  await client.connect(open());
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
});

it("the SDK 2.x signs in with its own OAuth client", async () => {
  const store = new HostStore();
  const authProvider: OAuthClientProvider = store;
  const open = () => new StreamableHTTPClientTransport(address(), { authProvider });
  const first = open();
  await expect(new Client(ME).connect(first)).rejects.toThrow();
  await first.finishAuth((await approve(store.asked)).searchParams);
  const client = new Client(ME);
  await client.connect(open());
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
});

it("oauth4webapi finds nothing against the standards, from discovery to revocation", async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const resource = await oauth.processResourceDiscoveryResponse(
    address(),
    await oauth.resourceDiscoveryRequest(address(), insecure),
  );
  const issuer = new URL(resource.authorization_servers?.[0] ?? "");
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
  );
  const wanted = {
    redirect_uris: [CALLBACK],
    client_name: "strict",
    grant_types: ["authorization_code", "refresh_token"],
  };
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, wanted, insecure),
  );
  // Registered without a method, it has a secret.
  const { client_secret: secret } = client;
  if (typeof secret !== "string") throw new Error("no secret was issued");
  const auth = oauth.ClientSecretBasic(secret);
  const verifier = oauth.generateRandomCodeVerifier();
  const url = new URL(server.authorization_endpoint ?? "");
  const parameters = {
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    response_type: "code",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state: "a-state",
    resource: resource.resource,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const callback = oauth.validateAuthResponse(server, client, await approve(url), "a-state");
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(server, client, auth, callback, CALLBACK, verifier, insecure),
  );
  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, auth, tokens.refresh_token ?? "", insecure),
  );
  const used = () =>
    oauth.protectedResourceRequest(
      refreshed.access_token,
      "GET",
      new URL(`${world.gateway.baseUrl}/receipts`),
      undefined,
      undefined,
      insecure,
    );
  expect((await used()).status).toBe(200);
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(server, client, auth, refreshed.access_token, insecure),
  );
  await expect.poll(async () => (await used().catch(() => ({ status: 401 }))).status).toBe(401);
});

it("oauth4webapi binds its tokens to a key, without which they are refused", async () => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(new URL(world.gateway.consoleUrl).origin);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
  );
  const { clientId, verifier } = await register(world.gateway);
  const client: oauth.Client = { client_id: clientId };
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair("ES256"));
  const bound = { ...insecure, DPoP };
  const callback = await approve(authorizeUrl(world.gateway, { clientId, verifier }));
  const parameters = oauth.validateAuthResponse(server, client, callback, "a-state");
  const { access_token: token, token_type: type } = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      CALLBACK,
      verifier,
      bound,
    ),
  );
  expect(type).toBe("dpop");
  const receipts = new URL(`${world.gateway.baseUrl}/receipts`);
  const proofs: string[] = [];
  const keepProof = (url: string, init: RequestInit) => {
    proofs.push(new Headers(init.headers).get("dpop") ?? "");
    return fetch(url, init);
  };
  const used = (options: object) =>
    oauth.protectedResourceRequest(token, "GET", receipts, undefined, undefined, { ...insecure, ...options });
  expect((await used({ DPoP, [oauth.customFetch]: keepProof })).status).toBe(200);
  const ask = async (address: string, headers: Record<string, string>) =>
    (await fetch(address, { headers })).status;
  const [proof = ""] = proofs;
  const authorization = `DPoP ${token}`;
  const [head, body = "", signature] = proof.split(".");
  const claims: object = JSON.parse(Buffer.from(body, "base64url").toString());
  const fresh = Buffer.from(JSON.stringify({ ...claims, jti: "another" })).toString("base64url");
  expect({
    replayed: await ask(receipts.href, { authorization, dpop: proof }),
    elsewhere: await ask(`${world.gateway.baseUrl}/runs`, { authorization, dpop: proof }),
    without: await ask(receipts.href, { authorization }),
    asBearer: await ask(receipts.href, { authorization: `Bearer ${token}`, dpop: proof }),
    unsigned: await ask(receipts.href, { authorization, dpop: `${head}.${fresh}.${signature}` }),
  }).toEqual({ replayed: 401, elsewhere: 401, without: 401, asBearer: 401, unsigned: 401 });
  const stranger = oauth.DPoP(client, await oauth.generateKeyPair("ES256"));
  await expect(used({ DPoP: stranger })).rejects.toThrow();
});

it("openid-client signs in and refreshes", async () => {
  const issuer = new URL(new URL(world.gateway.consoleUrl).origin);
  const config = await openid.dynamicClientRegistration(
    issuer,
    { redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" },
    openid.None(),
    { algorithm: "oauth2", execute: [openid.allowInsecureRequests] },
  );
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state: "a-state",
    scope: "compute:read openid",
  });
  const checks = { pkceCodeVerifier: verifier, expectedState: "a-state" };
  const tokens = await openid.authorizationCodeGrant(config, await approve(url), checks);
  expect(tokens).toMatchObject({ scope: "compute:read", token_type: "bearer" });
});

it("mcp-remote bridges a host without remote servers", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "mcp-remote-"));
  const port = await restartPort();
  const require = createRequire(import.meta.url);
  const program = require.resolve("mcp-remote/dist/proxy.js");
  const child = spawn(process.execPath, [program, address().href, String(port), "--allow-http"], {
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: "true", DISPLAY: "" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  try {
    const lines = createInterface({ input: child.stderr });
    const signedIn = (async () => {
      for await (const line of lines) {
        const [url] = /https?:\/\/\S+\/oauth\/authorize\?\S+/.exec(line) ?? [];
        if (url !== undefined) return new Browser().approve(world.gateway, url);
      }
      throw new Error("mcp-remote did not ask for a sign-in");
    })();
    const answered = once(createInterface({ input: child.stdout }), "line");
    const initialize = {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: ME,
    };
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize })}\n`,
    );
    const callback = await signedIn;
    // It prints the address before it listens for the answer.
    const send = () => fetch(callback).then(({ status }) => status, String);
    await expect.poll(send).toBe(200);
    const [answer] = await answered;
    expect(JSON.parse(String(answer))).toMatchObject({ id: 1, result: { serverInfo: { name: "toolgate" } } });
  } finally {
    child.kill();
    await rm(folder, { recursive: true, force: true });
  }
});
