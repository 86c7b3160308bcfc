import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { startWorld, type World } from "../support/world.ts";

/** Cross-origin calls (Fetch standard, "HTTP extensions"): off unless origins are listed. */

const LISTED = "https://app.example.com";
const FOREIGN = "https://evil.example.com";
const PATHS = [
  "/v1/mcp/tools/call",
  "/mcp",
  "/mcp/capabilities",
  "/receipts",
  "/health",
  "/nothing",
  "/toolgate.v1.ToolService/CallTool",
];

let world: World;
let open: Gateway;

beforeAll(async () => {
  world = await startWorld();
  open = await world.startAnother({ CORS_ORIGINS: `${LISTED}, http://localhost:3000` });
});
afterAll(() => world.close());

const ask = (gateway: Gateway, path: string, init: RequestInit) => fetch(gateway.baseUrl + path, init);
const preflight = (gateway: Gateway, path: string, origin: string) =>
  ask(gateway, path, {
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
  it.each(PATHS)("sends no CORS header: %s", async (path) => {
    expect(corsHeaders(await preflight(world.gateway, path, LISTED))).toEqual([]);
    expect(corsHeaders(await ask(world.gateway, path, { headers: { Origin: LISTED } }))).toEqual([]);
  });

  it("answers a preflight like any other OPTIONS: 405", async () => {
    expect((await preflight(world.gateway, "/v1/mcp/tools/call", LISTED)).status).toBe(405);
  });
});

describe("CORS with a list of origins", () => {
  it.each(PATHS)("answers the preflight of a listed origin: %s", async (path) => {
    const { status, headers } = await preflight(open, path, LISTED);
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe(LISTED);
    expect(headers.get("access-control-allow-methods")).toContain("POST");
    for (const name of [
      "authorization",
      "content-type",
      "x-payment",
      "idempotency-key",
      "mcp-protocol-version",
    ]) {
      expect(headers.get("access-control-allow-headers")).toContain(name);
    }
    for (const name of ["mcp-method", "mcp-name", "prefer", "payment-signature"]) {
      expect(headers.get("access-control-allow-headers")).toContain(name);
    }
    expect(headers.get("vary")).toBe("Origin");
  });

  it("exposes the request id, the rate limit and the retry delay to pages", async () => {
    const { headers } = await ask(open, "/receipts", { headers: { Origin: LISTED } });
    expect(headers.get("access-control-allow-origin")).toBe(LISTED);
    for (const name of [
      "x-request-id",
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "retry-after",
      "payment-required",
      "payment-response",
      "preference-applied",
    ]) {
      expect(headers.get("access-control-expose-headers")).toContain(name);
    }
  });

  it("allows pages to repeat tool arguments in headers of any name", async () => {
    const { headers } = await ask(open, "/mcp", {
      method: "OPTIONS",
      headers: {
        Origin: LISTED,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,mcp-param-region,x-other,mcp-param-tenant-id",
      },
    });
    const allowed = headers.get("access-control-allow-headers");
    expect(allowed).toContain(", mcp-param-region, mcp-param-tenant-id");
    expect(allowed).not.toContain("x-other");
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
      await ask(open, "/health", { headers: { Origin: LISTED } }),
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
      await ask(open, "/health", { headers: { Origin: origin } }),
    ]) {
      expect(corsHeaders(response)).toEqual([]);
      expect(response.headers.get("vary")).toBe("Origin");
    }
  });

  it("allows every origin of the list", async () => {
    const { headers } = await ask(open, "/health", { headers: { Origin: "http://localhost:3000" } });
    expect(headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
  });

  it("treats an OPTIONS request without a method header as a plain OPTIONS", async () => {
    expect((await ask(open, "/mcp", { method: "OPTIONS", headers: { Origin: LISTED } })).status).toBe(405);
  });
});
