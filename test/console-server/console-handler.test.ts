import { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { SessionService } from "#gen/toolgate/console/v1/session_service_pb.ts";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { answerOf, pageClient, pageHeaders, rpcUrl, signIn } from "../support/console.ts";
import { rawRequest } from "../support/raw-http.ts";
import { startWorld } from "../support/world.ts";
import { callGrpc, failureOf, grpcClient } from "../transport/grpc-client.ts";
import { newChallenge, errorOf } from "./anonymous-client.ts";
import { closing } from "../support/postgres.ts";
import { restartPort } from "../support/ports.ts";

const FRIEND = "https://friend.example";

const world = closing(await startWorld({ TRUSTED_PROXY_HOPS: "1", CORS_ORIGINS: FRIEND }));
const person = await signIn(world, Keypair.generate());

const SESSIONS = "toolgate.console.v1.SessionService";

function ask(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Response> {
  return fetch(`${rpcUrl(world.gateway)}/${path}`, { method, headers, ...(body !== undefined && { body }) });
}

/** POSTs an empty message to ListSessions with the session's cookie. */
function post(headers: Record<string, string>): Promise<Response> {
  const json = { "content-type": "application/json", cookie: person.cookie };
  return ask("POST", `${SESSIONS}/ListSessions`, { ...json, ...headers }, "{}");
}

const statusOf = async (answer: Promise<Response>) => (await answer).status;

describe("console handler", () => {
  const own = () => new URL(world.gateway.consoleUrl).origin;

  it("accepts same-origin requests with a session", async () => {
    const answer = await post(pageHeaders(world.gateway));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("vary")).toBe("cookie");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(answer.headers.get("x-ratelimit-limit")).toBe("600");
    expect(await statusOf(post({ origin: own() }))).toBe(200);
  });

  it.each<[string, () => Record<string, string>]>([
    ["a page of another origin", () => ({ origin: "https://evil.example", "sec-fetch-site": "cross-site" })],
    ["a page of another port", () => ({ origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" })],
    [
      "a page of another origin that claims to be the same",
      () => ({ origin: "https://evil.example", "sec-fetch-site": "same-origin" }),
    ],
    ["a page that CORS lets call the API", () => ({ origin: FRIEND, "sec-fetch-site": "cross-site" })],
    ["a page without an origin (sandboxed)", () => ({ origin: "null", "sec-fetch-site": "cross-site" })],
    ["its own origin, sent from elsewhere", () => ({ origin: own(), "sec-fetch-site": "cross-site" })],
    ["a site of the same registrable domain", () => ({ origin: own(), "sec-fetch-site": "same-site" })],
    ["a click of the user", () => ({ origin: own(), "sec-fetch-site": "none" })],
    ["no page at all", () => ({})],
    ["no origin, from the same site", () => ({ "sec-fetch-site": "same-origin" })],
    ["the same origin twice", () => ({ origin: `${own()}, ${own()}` })],
  ])("rejects POST requests from %s", async (_name, headers) => {
    const answer = await post(headers());
    expect(answer.status).toBe(403);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect(await answer.text()).toContain("only the console's own pages may send this");
  });

  it("rejects content types that a form can send without a preflight", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      const status = await statusOf(post({ ...pageHeaders(world.gateway), "content-type": type }));
      expect(status, type).toBe(415);
    }
    const friend = await ask("OPTIONS", `${SESSIONS}/SignOut`, {
      origin: FRIEND,
      "access-control-request-method": "POST",
    });
    expect(friend.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("allows GET for reads from the same site only", async () => {
    const query = "?connect=v1&encoding=json&message=%7B%7D";
    const { cookie } = person;
    const get = (method: string, headers: Record<string, string>) =>
      statusOf(ask("GET", `${SESSIONS}/${method}${query}`, { cookie, ...headers }));
    expect(await get("ListSessions", { "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await get("ListSessions", { "sec-fetch-site": "none" })).toBe(200);
    expect(await get("ListSessions", {})).toBe(200);
    expect(await get("ListSessions", { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await get("ListSessions", { "sec-fetch-site": "same-site" })).toBe(403);
    expect(await get("ListSessions", { origin: FRIEND })).toBe(403);
    for (const method of ["SignOut", "SignOutEverywhere", "RevokeSession", "SignIn"])
      expect(await get(method, { "sec-fetch-site": "same-origin" })).toBe(405);
    expect((await person.client(SessionService).getSession({})).session?.sessionId).toBe(
      person.session.sessionId,
    );
  });

  it("rejects a foreign Host header (DNS rebinding)", async () => {
    const path = `/console/rpc/${SESSIONS}/GetSession`;
    const head = `POST ${path} HTTP/1.1\r\nHost: rebound.example\r\nOrigin: http://rebound.example\r\n`;
    const rest = "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    const [answer] = await rawRequest(world.gateway.baseUrl, { pieces: [head + rest] });
    expect(answer?.status).toBe(403);
    expect(answer?.body).toContain("Host:");
  });

  it("redirects other loopback names to the canonical console URL", async () => {
    const { origin, port } = new URL(world.gateway.consoleUrl);
    const ask = async (host: string, path: string) => {
      const pieces = [`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`];
      const [answer] = await rawRequest(world.gateway.baseUrl, { pieces });
      return [answer?.status, answer?.headers["location"]];
    };
    expect(await ask(`localhost:${port}`, "/console/keys?a=b")).toEqual([307, `${origin}/console/keys?a=b`]);
    expect(await ask(`localhost:${port}`, "/console")).toEqual([307, `${origin}/console`]);
    // No redirect for a forwarded port, where ours is unreachable, nor for the canonical host.
    expect((await ask("localhost:1", "/console/"))[0]).not.toBe(307);
    expect((await ask(`127.0.0.1:${port}`, "/console/"))[0]).not.toBe(307);
    expect((await ask("gateway.example", "/console/"))[0]).not.toBe(307);
  });

  it("answers unknown paths with an error body", async () => {
    for (const path of [
      "/console/rpc/nothing",
      "/console/rpc/toolgate.v1.ToolService/CallTool",
      "/console/export/nothing",
    ]) {
      const answer = await fetch(`${world.gateway.baseUrl}${path}`, { headers: person.headers });
      expect([answer.status, await answer.json()], path).toMatchObject([404, { code: "NOT_FOUND" }]);
    }
  });
});

describe("session cookie", () => {
  it("is accepted by the console only", async () => {
    const { cookie } = person;
    const headers = { ...pageHeaders(world.gateway), cookie };
    const call = { tool: "get_status", params: {} };
    expect((await world.post(undefined, "/v1/mcp/tools/call", call, headers)).status).toBe(401);
    expect((await world.post(undefined, "/mcp", call, headers)).status).toBe(401);
    expect((await world.get(undefined, "/receipts", headers)).status).toBe(401);
    const connect = await fetch(`${world.gateway.baseUrl}/toolgate.v1.ReceiptService/ListReceipts`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: "{}",
    });
    expect(connect.status).toBe(401);
    const client = grpcClient(world.gateway.grpcAddress);
    const failure = await failureOf(
      callGrpc(client, ReceiptService.method.listReceipts, {}, { metadata: { cookie } }),
    );
    expect(failure.code).toBe(16);
    const sessions = await failureOf(
      callGrpc(client, SessionService.method.listSessions, {}, { metadata: { cookie } }),
    );
    expect(sessions.code).toBe(12);
    client.close();
  });

  it("is not accepted as a bearer token", async () => {
    const token = person.cookie.slice(person.cookie.indexOf("=") + 1);
    const headers = { ...pageHeaders(world.gateway), authorization: `Bearer ${token}` };
    expect(await errorOf(pageClient(world.gateway, SessionService, headers).listSessions({}))).toMatch(
      /^Unauthenticated/,
    );
  });

  it("allows operator methods only while the account has the role", async () => {
    const { accountId } = person.session;
    const service = person.client(AccountService);
    expect(await errorOf(service.getAccount({ accountId }))).toMatch(/^PermissionDenied: /);
    const agent = await world.agent({ operator: true });
    const operator = await signIn(world, agent.wallet);
    expect(operator.session.operator).toBe(true);
    const { account } = await operator.client(AccountService).getAccount({ accountId });
    expect(account?.wallet).toBe(person.session.wallet);
    // Revoking the role applies to existing sessions.
    await world.postgres.accounts.setOperator(agent.accountId, false);
    expect(await errorOf(operator.client(AccountService).getAccount({ accountId }))).toMatch(
      /^PermissionDenied: /,
    );
  });
});

describe("API key", () => {
  it("is rejected by the console, even an operator's", async () => {
    const agent = await world.agent({ operator: true });
    const headers = { authorization: `Bearer ${agent.apiKey}` };
    const { accountId } = agent;
    const page = pageClient(world.gateway, SessionService, headers);
    expect(await errorOf(page.listSessions({}))).toMatch(/^Unauthenticated: not signed in/);
    const operator = pageClient(world.gateway, AccountService, headers);
    expect(await errorOf(operator.getAccount({ accountId }))).toMatch(/^Unauthenticated/);
    expect((await page.getSession({})).session).toBeUndefined();
  });

  it("is ignored beside a cookie, so that a proxy may use Basic authentication", async () => {
    const headers = { cookie: person.cookie, authorization: "Basic dXNlcjpwYXNzd29yZA==" };
    const { session } = await pageClient(world.gateway, SessionService, headers).getSession({});
    expect(session?.sessionId).toBe(person.session.sessionId);
  });
});

describe("Set-Cookie", () => {
  /** Starts a gateway with a public URL and calls it on its own port, as a proxy does. */
  async function behindProxy(settings: Record<string, string>, heard: (headers: Headers) => void) {
    const port = await restartPort();
    const gateway = await world.startAnother({ ...settings, PORT: String(port) });
    const { origin } = new URL(gateway.consoleUrl);
    return pageClient({ consoleUrl: `http://127.0.0.1:${port}/console` }, SessionService, { origin }, heard);
  }

  it("uses __Host- and Secure over https", async () => {
    let cookie: string | null = null;
    const page = await behindProxy({ PUBLIC_URL: "https://gateway.example" }, (headers) => {
      cookie = headers.get("set-cookie");
    });
    const { challenge } = await page.beginSignIn({});
    expect(challenge).toMatchObject({ domain: "gateway.example", uri: "https://gateway.example/console" });
    await page.signIn(answerOf(Keypair.generate(), challenge!));
    expect(cookie).toMatch(
      /^__Host-toolgate_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
  });

  it("omits Secure on loopback", async () => {
    const challenge = await newChallenge(world.gateway);
    let cookie = "";
    const page = pageClient(world.gateway, SessionService, {}, (headers) => {
      cookie = headers.get("set-cookie") ?? "";
    });
    await page.signIn(answerOf(Keypair.generate(), challenge));
    expect(cookie).toMatch(
      /^toolgate_session=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/,
    );
  });

  it("is not issued over plain http on other hosts", async () => {
    const page = await behindProxy({ CONSOLE_URL: "http://gateway.example/console" }, () => {});
    expect(await errorOf(page.beginSignIn({}))).toMatch(
      /^PermissionDenied: sign-in requires https.*CONSOLE_URL/,
    );
    const request = answerOf(Keypair.generate(), await newChallenge(world.gateway));
    expect(await errorOf(page.signIn(request))).toMatch(/^PermissionDenied: sign-in requires https/);
    expect((await page.getSession({})).session).toBeUndefined();
  });
});
