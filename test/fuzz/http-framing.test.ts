import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { rawRequest, type RawAnswer, type RawRequest } from "../support/raw-http.ts";
import { useWorld } from "../support/use-world.ts";
import { type Agent } from "../support/world.ts";
import { expectRefused, expectWellBehaved } from "./well-behaved.ts";

/** Bytes that no HTTP client sends, over raw sockets (RFC 9112; the shapes of request smuggling). */

const world = useWorld();
let agent: Agent;

beforeAll(async () => void (agent = await world.agent({ balance: 1_000_000n })));
afterEach(async () => {
  expect((await fetch(`${world.gateway.baseUrl}/health`)).status).toBe(200);
});

const ECHO = '{"tool":"echo","params":{"message":"hi"}}';
const PAID = '{"tool":"vram_estimate","params":{"model":"llama-3.1-8b"}}';
const HEAD = "POST /v1/mcp/tools/call HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n";
const keyed = (head: string) => `${head}Authorization: Bearer ${agent.apiKey}\r\n`;
const post = (headers: string, body = "") => `${keyed(HEAD)}${headers}\r\n${body}`;
const sized = (body: string, headers = "") => post(`Content-Length: ${body.length}\r\n${headers}`, body);
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);
const get = (target: string, headers = "") => `GET ${target} HTTP/1.1\r\nHost: gateway\r\n${headers}\r\n`;

const send = (...pieces: (string | Buffer)[]) => rawRequest(world.gateway.baseUrl, { pieces });
const sendAll = (request: RawRequest) => rawRequest(world.gateway.baseUrl, request);
const only = ([answer, ...rest]: RawAnswer[]): RawAnswer => {
  if (!answer || rest.length > 0)
    throw new Error(`one answer was expected, not ${rest.length + (answer ? 1 : 0)}`);
  return answer;
};
const asText = ({ status, headers, body }: RawAnswer) => ({
  status,
  body,
  headers: { get: (name: string) => headers[name] },
});
const runs = async () => (await world.get(agent, "/runs?limit=100")).body.items.length;

describe("ambiguous HTTP message lengths", () => {
  const shapes: [name: string, request: () => string][] = [
    [
      "Content-Length and Transfer-Encoding (CL.TE)",
      () => post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
    ],
    [
      "Transfer-Encoding and Content-Length (TE.CL)",
      () => post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "2e\r\n"),
    ],
    ["two lengths that differ", () => post("Content-Length: 6\r\nContent-Length: 7\r\n", ECHO)],
    [
      "two lengths that agree",
      () => post(`Content-Length: ${ECHO.length}\r\nContent-Length: ${ECHO.length}\r\n`, ECHO),
    ],
    ["a list of lengths", () => post("Content-Length: 6, 7\r\n", ECHO)],
    ["a negative length", () => post("Content-Length: -1\r\n")],
    ["a length with a sign", () => post("Content-Length: +5\r\n", "12345")],
    ["a hexadecimal length", () => post("Content-Length: 0x5\r\n", "12345")],
    ["a length beyond every integer", () => post(`Content-Length: ${"9".repeat(40)}\r\n`)],
    ["a coding after chunked", () => post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n")],
    ["a coding before chunked", () => post("Transfer-Encoding: identity, chunked\r\n", "0\r\n\r\n")],
    ["chunked twice", () => post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n")],
    [
      "chunked in two headers",
      () => post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
    ],
    ["an unknown coding", () => post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n")],
    [
      "chunked behind a tab and a vertical tab",
      () => post("Transfer-Encoding:\t\x0bchunked\r\n", "0\r\n\r\n"),
    ],
    ["white space before the colon", () => post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n")],
    ["a folded header", () => post("X-A: a\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n")],
    ["a chunk size that is no number", () => chunked("ZZ\r\n")],
    ["a chunk size beyond every integer", () => chunked(`${"f".repeat(20)}\r\n`)],
    ["a chunk that is longer than it says", () => chunked("2\r\nabcd\r\n0\r\n\r\n")],
    ["NUL in a header", () => post("X-A: a\0b\r\n")],
    ["a header without a colon", () => post("X-A\r\n")],
    ["lines that end with LF alone", () => `GET /health HTTP/1.1\nHost: gateway\n\n`],
    ["a bare CR", () => `GET /health HTTP/1.1\r\nHost: gateway\r\nX-A: a\rb\r\n\r\n`],
    ["no HTTP at all", () => "HELO gateway\r\n\r\n"],
    ["a TLS hello", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["HTTP/2 with prior knowledge", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a method in lower case", () => "get /health HTTP/1.1\r\nHost: gateway\r\n\r\n"],
    ["a method of nobody's", () => "BREW /health HTTP/1.1\r\nHost: gateway\r\n\r\n"],
    ["a target with a space", () => "GET /hea lth HTTP/1.1\r\nHost: gateway\r\n\r\n"],
    ["HTTP/9.9", () => "GET /health HTTP/9.9\r\nHost: gateway\r\n\r\n"],
  ];
  it.each(shapes)("refuses an ambiguous length and closes the connection: %s", async (_, request) => {
    const before = await runs();
    const answer = only(await send(request()));
    expectRefused(asText(answer));
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body).code).toBe("INVALID_REQUEST");
    expect(answer.headers["connection"]).toBe("close");
    expect(await runs()).toBe(before);
  });
});

it("ends the connection after an HTTP/1.0 request with a transfer coding", async () => {
  const chunks = `${ECHO.length.toString(16)}\r\n${ECHO}\r\n0\r\n\r\n`;
  const old = post("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", chunks).replace(
    "/1.1",
    "/1.0",
  );
  const answer = only(await send(old + get("/health")));
  expect(answer.headers["connection"]).toBe("close");
});

describe("HTTP bodies that differ from their announcement", () => {
  it("refuses half a body that ends, and does nothing", async () => {
    const half = sized(PAID).slice(0, -10);
    const answer = only(await sendAll({ pieces: [half], end: true }));
    expectRefused(asText(answer));
    expect(await runs()).toBe(0);
  });

  it("refuses half a chunk that ends, and does nothing", async () => {
    const answer = only(await sendAll({ pieces: [chunked("ff\r\nabc")], end: true }));
    expectRefused(asText(answer));
  });

  it("waits for a missing body and serves others meanwhile", async () => {
    const waiting = sendAll({ pieces: [post("Content-Length: 10\r\n")], waitMs: 300 });
    expect((await world.call(agent, "echo", { message: "others" })).status).toBe(200);
    expect(await waiting).toEqual([]);
  });

  it("accepts chunks with extensions and trailers", async () => {
    const chunks =
      `5;a=b\r\n${ECHO.slice(0, 5)}\r\n${(ECHO.length - 5).toString(16)}\r\n${ECHO.slice(5)}\r\n` +
      "0\r\nX-Payment: trailer\r\n\r\n";
    const answer = only(await send(chunked(chunks)));
    expect(answer.status).toBe(200);
  });

  it("ignores an unknown expectation", async () => {
    expect(only(await send(sized(ECHO, "Expect: tea\r\n"))).status).toBe(200);
  });

  it("returns 413 for an oversized body, with and without Content-Length, and closes the connection", async () => {
    for (const request of [
      post("Content-Length: 9999999999\r\n"),
      chunked(`200000\r\n${"x".repeat(0x200000)}\r\n0\r\n\r\n`),
    ]) {
      const [answer] = await send(request);
      expect(answer?.status).toBe(413);
      expect(answer?.headers["connection"]).toBe("close");
    }
  });

  it("answers a call followed by garbage, then closes the connection", async () => {
    const answer = only(
      await send(`${sized(PAID, "Idempotency-Key: first\r\n")}GARBAGE\r\n`, "MORE\r\n\r\n"),
    );
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body).receipt.debited_usdc_microusd).toBe(1000);
  });

  it("answers two pipelined requests in order, each with its own key", async () => {
    const stranger = `${HEAD}Content-Length: ${ECHO.length}\r\n\r\n${ECHO}`;
    const answers = await send(sized(ECHO) + get("/health") + stranger);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401]);
  });

  it("returns 400 for garbage after the 200", async () => {
    const answers = await sendAll({ pieces: [sized(ECHO), "GARBAGE\r\n\r\n"], pauseMs: 80 });
    expect(answers.map(({ status }) => status)).toEqual([200, 400]);
  });
});

describe("HTTP headers", () => {
  it.each([
    ["one of 40,000 characters", () => get("/health", `X-A: ${"a".repeat(40_000)}\r\n`)],
    ["3,000 of them", () => get("/health", "X-Some-Header: a\r\n".repeat(3_000))],
    ["a target of 40,000 characters", () => get(`/${"a".repeat(40_000)}`)],
    [
      "a key of 40,000 characters",
      () => get("/receipts", `Authorization: Bearer sk-agent-${"a".repeat(40_000)}\r\n`),
    ],
  ])("returns 431 for large headers: %s", async (_, request) => {
    const answer = only(await send(request()));
    expectRefused(asText(answer));
    expect(answer.status).toBe(431);
    expect(JSON.parse(answer.body).code).toBe("PAYLOAD_TOO_LARGE");
  });

  it.each([
    ["two keys", 401, "UNAUTHORIZED", () => sized(ECHO, "Authorization: Bearer sk-agent-other\r\n")],
    [
      "the same key twice",
      401,
      "UNAUTHORIZED",
      () => sized(ECHO, `Authorization: Bearer ${agent.apiKey}\r\n`),
    ],
    ["two content types", 415, "UNSUPPORTED_MEDIA_TYPE", () => sized(ECHO, "Content-Type: text/plain\r\n")],
    [
      "two idempotency keys",
      400,
      "INVALID_REQUEST",
      () => sized(ECHO, "Idempotency-Key: a\r\nidempotency-key: b\r\n"),
    ],
    [
      "the same idempotency key twice",
      400,
      "INVALID_REQUEST",
      () => sized(ECHO, "Idempotency-Key: a\r\nIdempotency-Key: a\r\n"),
    ],
    ["two proofs", 400, "INVALID_REQUEST", () => sized(PAID, "X-Payment: YQ\r\nX-Payment: YQ\r\n")],
    ["two hosts", 400, "INVALID_REQUEST", () => sized(ECHO, "Host: other\r\n")],
    [
      "an idempotency key that is not ASCII",
      400,
      "INVALID_REQUEST",
      () => sized(ECHO, "Idempotency-Key: \xfc\r\n"),
    ],
    [
      "a body in an unknown coding",
      415,
      "UNSUPPORTED_MEDIA_TYPE",
      () => sized(ECHO, "Content-Encoding: br\r\n"),
    ],
  ] as const)("refuses contradictory headers: %s", async (_, status, code, request) => {
    const before = await runs();
    const answer = only(await send(Buffer.from(request(), "latin1")));
    expectRefused(asText(answer));
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.body).code).toBe(code);
    expect(await runs()).toBe(before);
  });

  it("accepts a comma in a header value: one idempotency key `a, b`", async () => {
    expect(only(await send(sized(ECHO, "Idempotency-Key: a, b\r\n"))).status).toBe(200);
  });

  it("requires a Host header, except in HTTP/1.0", async () => {
    expectRefused(asText(only(await send("GET /health HTTP/1.1\r\n\r\n"))));
    expect(only(await send("GET /health HTTP/1.0\r\n\r\n")).status).toBe(200);
  });

  it("keeps CR and LF in echoed values as text", async () => {
    const body = JSON.stringify({ tool: "a\r\nSet-Cookie: a=b", params: {} });
    const answer = only(await send(sized(body)));
    expectRefused(asText(answer));
    expect(answer.headers).not.toHaveProperty("set-cookie");
  });
});

describe("HTTP targets", () => {
  it("accepts absolute form (RFC 9112 section 3.2.2)", async () => {
    for (const target of [
      "http://gateway/health",
      "HTTP://other:81/health",
      "https://user:pw@gateway/health",
    ]) {
      expect(only(await send(get(target))).status).toBe(200);
    }
    expect(only(await send(get("http://gateway"))).status).toBe(404);
    expect(only(await send(get("http://gateway?x=1"))).status).toBe(404);
  });

  it.each([
    "//health",
    "/health/",
    "/health//",
    "/./health",
    "/x/../health",
    "/..",
    "/../../etc/passwd",
    "/%2e%2e/health",
    "/health%00",
    "/health%2F",
    "/health;a=b",
    "/HEALTH",
    "/health#x",
    "/%",
    "/%zz",
    "*",
    "health",
    "///",
    "/mcp/",
    "/mcp/capabilities/",
    "/receipts/",
    "/receipts/a/b",
    "/receipts//",
    "/v1/mcp/tools/call/",
    "/v1//mcp/tools/call",
    "/toolgate.v1.Nothing/At",
    "/console/../health",
    `/${"a/".repeat(10_000)}`,
    `/receipts/${"%41".repeat(9_000)}`,
  ])("refuses a target outside the contract or returns 404: %s", async (target) => {
    const [answer] = await send(get(target, `Authorization: Bearer ${agent.apiKey}\r\n`));
    if (!answer) throw new Error("no answer");
    expectRefused(asText(answer));
    expect([400, 404]).toContain(answer.status);
  });

  it("decodes unnecessary percent-encoding (RFC 3986 section 6.2.2)", async () => {
    expect(only(await send(get("/%68ealth"))).status).toBe(200);
    expect(only(await send(get("/he%61lth"))).status).toBe(200);
  });

  it("refuses CONNECT tunnels and protocol upgrades", async () => {
    expect(await send("CONNECT gateway:80 HTTP/1.1\r\nHost: gateway\r\n\r\n")).toEqual([]);
    const answer = only(
      await send(
        get("/health", "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
      ),
    );
    expectWellBehaved(asText(answer));
    expect(answer.status).toBe(200);
  });
});
