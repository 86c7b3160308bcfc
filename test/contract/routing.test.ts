import { beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { restartPort } from "../support/ports.ts";
import { rawRequest } from "../support/raw-http.ts";
import { useWorld } from "../support/use-world.ts";
import type { Agent } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/** Paths and methods are checked before anything else (docs/reference/errors.md, "Order of checks"). */

const ROUTES: readonly [path: string, allow: string][] = [
  ["/v1/mcp/tools/call", "POST"],
  ["/mcp", "POST"],
  ["/mcp/capabilities", "GET, HEAD"],
  ["/health", "GET, HEAD"],
  ["/receipts", "GET, HEAD"],
  ["/receipts/x", "GET, HEAD"],
  ["/runs", "GET, HEAD"],
  ["/runs/x", "GET, HEAD"],
];
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

const world = useWorld();
let agent: Agent;

beforeAll(async () => {
  agent = await world.agent();
});

async function ask(method: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(world.gateway.baseUrl + path, { method, headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

describe("routing: 404", () => {
  it.each([
    "/",
    "/nothing",
    "/v1",
    "/v1/mcp/tools",
    "/v2/mcp/tools/call",
    "/favicon.ico",
    "/robots.txt",
    "/.env",
    "/metrics",
    "/admin",
  ])("returns 404 at %s", async (path) => {
    expectError(await ask("GET", path), 404, "NOT_FOUND", /^no route matches this path$/);
    expectError(await ask("POST", path), 404, "NOT_FOUND");
  });

  it.each(ROUTES)("returns 404 for %s with a trailing slash", async (path, allow) => {
    const [method = ""] = allow.split(", ");
    expectError(await ask(method, `${path}/`), 404, "NOT_FOUND");
  });

  it("returns 404 without looking up the key", async () => {
    expectError(await ask("GET", "/nothing", { Authorization: "Bearer sk-agent-unknown" }), 404, "NOT_FOUND");
    const keyed = await world.get(agent, "/nothing");
    expect(keyed.headers.get("x-ratelimit-limit")).toBeNull();
  });
});

describe("routing: 405", () => {
  it.each(ROUTES)("lists the allowed methods of %s", async (path, allow) => {
    for (const method of METHODS.filter((one) => !allow.split(", ").includes(one))) {
      const answer = await ask(method, path);
      expectError(answer, 405, "METHOD_NOT_ALLOWED", new RegExp(`supports ${allow}`));
      expect(answer.headers.get("allow")).toBe(allow);
    }
  });

  it.each(ROUTES.filter(([, allow]) => allow === "POST"))(
    "rejects HEAD at %s, which has no GET",
    async (path, allow) => {
      const answer = await ask("HEAD", path);
      expect(answer.status).toBe(405);
      expect(answer.body).toBeUndefined();
      expect(answer.headers.get("allow")).toBe(allow);
    },
  );

  it("returns 405 before checking the key and the body", async () => {
    const response = await fetch(`${world.gateway.baseUrl}/receipts`, {
      method: "POST",
      body: "x".repeat(100),
    });
    expect(response.status).toBe(405);
  });
});

describe("routing: HEAD", () => {
  /** The headers that are not of one answer alone. */
  const steady = (headers: Headers) =>
    [...headers].filter(
      ([name]) => !/^(?:date|connection|keep-alive|x-request-id|(?:x-)?ratelimit.*)$/.test(name),
    );

  it.each(ROUTES.filter(([, allow]) => allow !== "POST"))(
    "answers %s like GET without the body",
    async (path) => {
      for (const headers of [{}, { Authorization: `Bearer ${agent.apiKey}` }]) {
        const [get, head] = [await ask("GET", path, headers), await ask("HEAD", path, headers)];
        expect(head.status).toBe(get.status);
        expect(head.body).toBeUndefined();
        expect(steady(head.headers)).toEqual(steady(get.headers));
      }
    },
  );

  it("rate-limits HEAD like GET", async () => {
    const { headers } = await ask("HEAD", "/runs", {
      Authorization: `Bearer ${(await world.agent({ ratePerMinute: 60, burst: 10 })).apiKey}`,
    });
    expect(headers.get("x-ratelimit-remaining")).toBe("9");
  });
});

describe("routing of a known path", () => {
  it("distinguishes a path from similar ones", async () => {
    expectError(await ask("GET", "/mcp"), 405, "METHOD_NOT_ALLOWED");
    expect((await ask("GET", "/mcp/capabilities")).status).toBe(200);
    expectError(await ask("GET", "/mcp/other"), 404, "NOT_FOUND");
    expectError(await ask("GET", "/MCP/capabilities"), 404, "NOT_FOUND");
  });

  it("accepts an empty query", async () => {
    expect((await ask("GET", "/health?")).status).toBe(200);
    expect((await ask("GET", "/health?&&")).status).toBe(200);
  });

  it.each([
    "/health",
    "/livez",
    "/readyz",
    "/mcp/capabilities",
    "/openapi.json",
    "/.well-known/x402",
    "/openai/v1/models",
    "/anthropic/v1/models",
  ])("ignores what a link adds to %s", async (path) => {
    const answer = await world.get(agent, `${path}?x=1&utm_source=a&x=%zz`);
    expect(answer.status).toBe(200);
  });

  it("ignores parameters of one record, and refuses misspelt ones of a list", async () => {
    expectError(await world.get(agent, "/receipts/rcpt_x?x=1"), 404, "NOT_FOUND");
    expectError(await world.get(agent, "/receipts?stauts=final"), 400, "INVALID_REQUEST", /^stauts: /);
    expectError(
      await world.post(agent, "/v1/mcp/tools/call?x=1", { tool: "echo", params: { message: "" } }),
      400,
      "INVALID_REQUEST",
      /^x: unknown query parameter/,
    );
  });
});

describe("every response", () => {
  it("has its own id, is JSON, and forbids sniffing", async () => {
    const ids = new Set<string | null>();
    for (const [path] of ROUTES) {
      const { headers } = await ask("GET", path);
      ids.add(headers.get("x-request-id"));
      expect(headers.get("content-type")).toBe("application/json");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect(ids.size).toBe(ROUTES.length);
  });

  it("ignores the caller's request id", async () => {
    const { headers } = await ask("GET", "/health", { "X-Request-Id": "req_mine" });
    expect(headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  });

  it("does not name the server software", async () => {
    const { headers } = await ask("GET", "/health");
    expect(headers.get("server")).toBeNull();
    expect(headers.get("x-powered-by")).toBeNull();
  });
});

/** Cross-origin calls (Fetch standard, "HTTP extensions"): off unless origins are listed. */
const LISTED = "https://app.example.com";
const FOREIGN = "https://evil.example.com";
const CORS_PATHS = [
  "/v1/mcp/tools/call",
  "/mcp",
  "/mcp/capabilities",
  "/receipts",
  "/health",
  "/nothing",
  "/toolgate.v1.ToolService/CallTool",
];

let open: Gateway;

beforeAll(async () => {
  open = await world.startAnother({ CORS_ORIGINS: `${LISTED}, http://localhost:3000` });
});

const fetchFrom = (gateway: Gateway, path: string, init: RequestInit) => fetch(gateway.baseUrl + path, init);
const preflight = (gateway: Gateway, path: string, origin: string) =>
  fetchFrom(gateway, path, {
    method: "OPTIONS",
    headers: {
      Origin: origin,
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "authorization,x-payment",
    },
  });
const corsHeaders = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-"));

describe("CORS without a list of origins", () => {
  it.each(CORS_PATHS)("sends no CORS header: %s", async (path) => {
    expect(corsHeaders(await preflight(world.gateway, path, LISTED))).toEqual([]);
    expect(corsHeaders(await fetchFrom(world.gateway, path, { headers: { Origin: LISTED } }))).toEqual([]);
  });

  it("answers a preflight like any other OPTIONS: 405", async () => {
    expect((await preflight(world.gateway, "/v1/mcp/tools/call", LISTED)).status).toBe(405);
  });
});

describe("CORS with a list of origins", () => {
  it.each(CORS_PATHS)("answers the preflight of a listed origin: %s", async (path) => {
    const { status, headers } = await preflight(open, path, LISTED);
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe(LISTED);
    expect(headers.get("access-control-allow-methods")).toContain("POST");
    expect(headers.get("access-control-allow-headers")).toBe("authorization, x-payment");
    expect(headers.get("vary")).toBe("Origin");
  });

  it("exposes the request id, the rate limit and the retry delay to pages", async () => {
    const { headers } = await fetchFrom(open, "/receipts", { headers: { Origin: LISTED } });
    expect(headers.get("access-control-allow-origin")).toBe(LISTED);
    for (const name of [
      "x-request-id",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "retry-after",
      "payment-required",
      "payment-response",
      "x-payment-response",
      "preference-applied",
      "www-authenticate",
      "allow",
      "x-ratelimit-limit-requests",
      "x-ratelimit-remaining-requests",
      "x-ratelimit-reset-requests",
      "request-id",
      "anthropic-ratelimit-requests-reset",
    ]) {
      expect(headers.get("access-control-expose-headers")).toContain(name);
    }
  });

  it.each([
    ["the OpenAI client", "authorization,content-type,x-stainless-arch,x-stainless-retry-count"],
    ["the paid retry of x402", "access-control-expose-headers,content-type,payment-signature"],
    ["an MCP client", "mcp-param-region,mcp-protocol-version,mcp-method,last-event-id,x-custom.1"],
    ["a client of 300 headers", Array.from({ length: 300 }, (_, index) => `x-own-header-${index}`).join(",")],
  ])("allows the headers that %s asks for", async (_, names) => {
    for (const path of ["/openai/v1/responses", "/anthropic/v1/messages", "/x402/vram_estimate", "/mcp"]) {
      const headers = {
        Origin: LISTED,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": names,
      };
      const answer = await fetchFrom(open, path, { method: "OPTIONS", headers });
      expect(answer.headers.get("access-control-allow-headers")?.split(", ")).toEqual(names.split(","));
    }
  });

  it("allows pages of listed origins to call the MCP endpoint, and no others", async () => {
    const agent = await world.agent();
    const from = async (Origin: string) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
      const headers = { Origin, Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" };
      return (await fetch(`${open.baseUrl}/mcp`, { method: "POST", headers, body })).status;
    };
    expect(await Promise.all([LISTED, FOREIGN].map(from))).toEqual([200, 403]);
  });

  it("never allows credentials or any origin", async () => {
    for (const response of [
      await preflight(open, "/mcp", LISTED),
      await fetchFrom(open, "/health", { headers: { Origin: LISTED } }),
    ]) {
      expect(response.headers.get("access-control-allow-credentials")).toBeNull();
      expect(response.headers.get("access-control-allow-origin")).not.toBe("*");
    }
  });

  it.each([
    FOREIGN,
    `${LISTED}.evil.com`,
    LISTED.toUpperCase(),
    `${LISTED}:8443`,
    "http://app.example.com",
    "null",
    "",
    "*",
  ])("sends only Vary to the foreign origin %j", async (origin) => {
    for (const response of [
      await preflight(open, "/mcp", origin),
      await fetchFrom(open, "/health", { headers: { Origin: origin } }),
    ]) {
      expect(corsHeaders(response)).toEqual([]);
      expect(response.headers.get("vary")).toBe("Origin");
    }
  });

  it("allows every origin of the list", async () => {
    const { headers } = await fetchFrom(open, "/health", { headers: { Origin: "http://localhost:3000" } });
    expect(headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
  });

  it("treats an OPTIONS request without a method header as a plain OPTIONS", async () => {
    expect((await fetchFrom(open, "/mcp", { method: "OPTIONS", headers: { Origin: LISTED } })).status).toBe(
      405,
    );
  });
});

describe("CORS at /mcp of a public name", () => {
  const ASKS = "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization";
  let url: string;

  beforeAll(async () => {
    const port = await restartPort();
    url = `http://127.0.0.1:${port}`;
    await world.startAnother({ PUBLIC_URL: "https://tools.example", PORT: String(port) });
  });

  /** As the gateway's proxy sends it: fetch cannot set Host. */
  async function ask(line: string, host: string, more = `Authorization: Bearer ${agent.apiKey}`) {
    const fields = [`Host: ${host}`, `Origin: ${LISTED}`, "Connection: close", "Content-Length: 0", more];
    const [answer] = await rawRequest(url, {
      pieces: [`${line} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`],
    });
    return [answer?.status, answer?.headers["access-control-allow-origin"]];
  }

  it("lets pages of any origin call, and read where to sign in", async () => {
    expect(await ask("OPTIONS /mcp", "tools.example", ASKS)).toEqual([204, LISTED]);
    expect(await ask("POST /mcp", "tools.example", "X-Nothing: 1")).toEqual([401, LISTED]);
    expect(await ask("POST /mcp", "tools.example")).toEqual([400, LISTED]);
  });

  it("refuses a page that rebinds its own name, and lets none call other paths", async () => {
    for (const host of ["app.example.com", "127.0.0.1"])
      expect(await ask("POST /mcp", host)).toEqual([403, undefined]);
    expect(await ask("GET /receipts", "tools.example")).toEqual([200, undefined]);
  });
});
