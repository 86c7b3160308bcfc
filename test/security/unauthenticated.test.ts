import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Stranger } from "../support/stranger.ts";
import { useWorld } from "../support/use-world.ts";

/** CPU cost of requests without a key relative to GET /health. */

const PAGE = "https://app.example";
/** A head may have 32 KiB. */
const MUCH = 31_000;

const world = useWorld({ CORS_ORIGINS: PAGE });
let port: number;
let stranger: Stranger;

beforeAll(async () => {
  port = Number(new URL(world.gateway.baseUrl).port);
  stranger = new Stranger(port);
  await stranger.costOf(get("/health"), 1_500);
});
afterAll(() => stranger.close());

function head(line: string, ...headers: string[]): string {
  return [`${line} HTTP/1.1`, "Host: 127.0.0.1", ...headers, "", ""].join("\r\n");
}

function get(path: string, ...headers: string[]): string {
  return head(`GET ${path}`, ...headers);
}

function post(path: string, body: string, ...headers: string[]): string {
  return (
    head(`POST ${path}`, "Content-Type: application/json", `Content-Length: ${body.length}`, ...headers) +
    body
  );
}

function preflight(headers: string): string {
  const asks = [`Origin: ${PAGE}`, "Access-Control-Request-Method: POST"];
  return head("OPTIONS /v1/mcp/tools/call", ...asks, `Access-Control-Request-Headers: ${headers}`);
}

const SESSION = "/console/rpc/toolgate.console.v1.SessionService/GetSession";
const CAPABILITIES = "/toolgate.v1.ToolService/GetCapabilities?connect=v1&encoding=json&message=%7B%7D";
const TOOLS = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const LONG_HOST = encodeURIComponent(
  String.fromCodePoint(...Array.from({ length: 2_500 }, (_, at) => 0x4e00 + at)),
);

const DEEP = "[".repeat(500_000) + "]".repeat(500_000);
const JSON_OF_A_MEGABYTE = ["Content-Type: application/json", `Content-Length: ${DEEP.length}`];
const CHUNKED = ["Content-Type: application/json", "Transfer-Encoding: chunked"];

/** Largest cost relative to GET /health; closing the connection costs a new one. */
const [KEPT, CLOSED] = [4, 10];

it.each([
  ["the OpenAPI document", get("/openapi.json"), "200", KEPT],
  ["the OpenAPI document's head", head("HEAD /openapi.json"), "200", KEPT],
  ["the OpenAPI document that it has", get("/openapi.json", "If-None-Match: *"), "304", KEPT],
  ["the text for models", get("/llms.txt"), "200", KEPT],
  ["the catalogue", get("/mcp/capabilities"), "200", KEPT],
  ["the catalogue in Connect", get(CAPABILITIES), "200", CLOSED],
  ["the console", get("/console/"), "200", KEPT],
  ["a file that the console has not", get("/console/nothing.js"), "404", KEPT],
  ["a session", post(SESSION, "{}"), "403", CLOSED],
  ["what is not there", get("/nothing"), "404", KEPT],
  ["another method", head("PUT /health"), "405", KEPT],
  ["another method of a document", head("PUT /openapi.json"), "405", CLOSED],
  ["what a page may send", preflight("authorization"), "204", KEPT],
  ["the tools over MCP", post("/mcp", TOOLS), "401", CLOSED],
  ["a call", post("/v1/mcp/tools/call", "{}"), "401", CLOSED],
  ["a call with a body of a megabyte", post("/v1/mcp/tools/call", " ".repeat(1_000_000)), "401", 2 * CLOSED],
  ["nothing that could be read", "what?\r\n\r\n", "400", CLOSED],
])("serves %s cheaply without a key", async (_, text, status, most) => {
  const { ratio, statuses } = await stranger.timesAsMuch(text, get("/health"), most);
  expect(statuses).toEqual([status]);
  expect(ratio).toBeLessThan(most);
});

describe("a head of 31 KB", () => {
  it.each([
    ["segments of a path", get(`/${"a/".repeat(MUCH / 2)}`), "404"],
    ["escapes in a path", get(`/${"%41/".repeat(MUCH / 4)}`), "404"],
    ["parameters", get(`/health?${"a&".repeat(MUCH / 2)}`), "200"],
    ["blanks in a cookie", get("/console/export/statement.csv", `Cookie: a${" ".repeat(MUCH)}b`), "401"],
    ["cookies", get("/console/export/statement.csv", `Cookie: ${"a;".repeat(MUCH / 2)}`), "401"],
    ["codings", get("/console/", `Accept-Encoding: ${"a;,".repeat(MUCH / 3)}`), "200"],
    ["entity tags", get("/openapi.json", `If-None-Match: ${"a,".repeat(MUCH / 2)}`), "200"],
    ["a host name", get("/console/").replace("127.0.0.1", LONG_HOST), "400"],
    ["a host name in Connect", get(CAPABILITIES).replace("127.0.0.1", LONG_HOST), "400"],
    ["addresses of proxies", get("/health", `X-Forwarded-For: ${"1,".repeat(MUCH / 2)}`), "200"],
    ["headers that a page may send", preflight("mcp-param-a,".repeat(MUCH / 12)), "204"],
    ["many headers", get("/health", ...Array.from({ length: 600 }, () => "a: b")), "200"],
  ])("is refused cheaply by %s", async (_, text, status) => {
    const { ratio, statuses } = await stranger.timesAsMuch(text, get("/health"), CLOSED, 30);
    expect(statuses).toEqual([status]);
    expect(ratio).toBeLessThan(CLOSED);
  });
});

it("rejects a body of a megabyte for a method without a key", async () => {
  const { statuses } = await stranger.costOf(get("/health", ...JSON_OF_A_MEGABYTE) + DEEP, 4);
  expect(statuses).toEqual(["413"]);
});

it("ends the connection after an unread document body", async () => {
  const sent = request(`${world.gateway.baseUrl}/openapi.json`, { headers: { "content-length": 1 } }).end(
    "x",
  );
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  expect(answer.headers.connection).toBe("close");
});

/** The first 64 KiB are read before the rest is dropped, and cost up to 300 times GET /health. */
it.each([
  ["a document", "/openapi.json", "200"],
  ["health", "/health", "413"],
])("stops reading a body in 1-byte chunks sent to %s", async (_, path, status) => {
  const text = get(path, ...CHUNKED) + "1\r\n \r\n".repeat(500_000);
  const { ratio, statuses } = await stranger.timesAsMuch(text, get("/health"), 500, 4);
  expect(statuses).toEqual([status]);
  expect(ratio).toBeLessThan(500);
});

it("serves documents to clients that never read without extra time or memory", async () => {
  const [connections, pipelined] = [50, 32];
  const { micros: health } = await stranger.costOf(get("/health"), 500);
  const costs: { ratio: number; memory: number }[] = [];
  // A collection of garbage may fall into one of the rounds.
  for (let round = 0; round < 3; round++) {
    const before = { memory: process.memoryUsage().arrayBuffers, cpu: process.threadCpuUsage() };
    const sockets = Array.from({ length: connections }, () => connect(port, "127.0.0.1").pause());
    for (const socket of sockets) socket.write(get("/openapi.json").repeat(pipelined));
    await expect.poll(async () => (await fetch(`${world.gateway.baseUrl}/health`)).status).toBe(200);
    const { user, system } = process.threadCpuUsage(before.cpu);
    const memory = process.memoryUsage().arrayBuffers - before.memory;
    for (const socket of sockets) socket.destroy();
    costs.push({ ratio: (user + system) / (connections * pipelined * health), memory });
  }
  expect(Math.min(...costs.map(({ ratio }) => ratio))).toBeLessThan(3);
  // One response per connection would be 4 MB; all of them 120.
  expect(Math.min(...costs.map(({ memory }) => memory))).toBeLessThan(2_000_000);
});
