import { brotliCompressSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LookupFunction } from "node:net";
import { priceFrom } from "../../../../src/tools/custom/price.ts";
import { CustomTool } from "../../../../src/tools/custom/custom-tool.ts";
import {
  backendOf,
  CALL,
  documentFolder,
  json,
  openapi,
  operation,
  settingsOf,
  startThirdParty,
  type ThirdParty,
} from "./third-party.ts";

/** A third-party server that succeeds, lies, stalls, floods, redirects and disconnects. */

/** Internal servers in documents, each the id of its operation. */
const INSIDE = [
  "http://127.0.0.1:1",
  "http://2130706433",
  "http://0x7f.1",
  "http://[::1]:1",
  "http://[::ffff:7f00:1]",
  "http://169.254.169.254",
];

const folder = documentFolder();
let party: ThirdParty;
let file: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  party = await startThirdParty();
  // Shared, since validation is slow.
  const inside = INSIDE.map((url, index) => [
    `/inside/${index}`,
    { post: operation(url, { servers: [{ url }] }) },
  ]);
  const paths = {
    "/op": { post: operation("op") },
    "/any": { post: { ...operation("any"), responses: {} } },
    "/get": { get: operation("get") },
    ...Object.fromEntries(inside),
  };
  file = folder.write("op.json", openapi(paths));
});
afterEach(() => {
  party.received.length = 0;
});
afterAll(async () => {
  await Promise.all(open.map((one) => one.close()));
  await party.close();
  folder[Symbol.dispose]();
});

type Entry = NonNullable<Parameters<typeof backendOf>[2]>;

/** Calls an operation as the tool `t`. */
const encodedAs = (coding: string) => ({ "Content-Type": "application/json", "Content-Encoding": coding });

async function call(answer: ThirdParty["answer"], entry: Entry = {}, operationId = "op"): Promise<unknown> {
  party.answer = answer;
  const known = entry.lookup ? undefined : JSON.stringify([operationId, entry]);
  const tool = tools.get(known) ?? (await toolOf(entry, operationId));
  if (known !== undefined) tools.set(known, tool);
  const caller = { accountId: "a", keyId: "k", scopes: new Set<never>(), operator: false };
  return tool
    .prepare({})
    .run({ caller, runId: "run_1", idempotencyKey: "claim_1", signal: CALL.signal } as never);
}

/** Tools with equal settings are shared and described once. */
const tools = new Map<string | undefined, CustomTool>();

async function toolOf(entry: Entry, operationId: string): Promise<CustomTool> {
  const { lookup, env, ...rest } = entry;
  const url = lookup ? party.url.replace("127.0.0.1", "api.example") : party.url;
  const http = { openapi: file, operation_id: operationId };
  const backend = await backendOf(file, url, { http: { ...http, server_url: url }, ...entry });
  open.push(backend);
  const tool = new CustomTool(settingsOf({ http, ...rest }, env), backend, await priceFrom({ free: true }));
  await tool.describe(AbortSignal.timeout(60_000));
  return tool;
}

describe("results of HTTP responses", () => {
  it.each([
    ["a JSON object", { "Content-Type": "application/json" }, '{"a":[1,"ü"]}', { a: [1, "ü"] }],
    ["other JSON", { "Content-Type": "application/problem+json" }, "[1,2]", { value: [1, 2] }],
    ["text", { "Content-Type": "text/plain; charset=iso-8859-1" }, Buffer.from([0xfc]), { text: "ü" }],
    [
      "an image",
      { "Content-Type": "image/png" },
      Buffer.from([1, 255]),
      { base64: "Af8=", media_type: "image/png" },
    ],
    ["bytes of no kind", {}, "x", { base64: "eA==", media_type: "application/octet-stream" }],
    ["nothing", { "Content-Type": "application/json" }, "", {}],
    ["compressed JSON", encodedAs("gzip"), gzipSync('{"a":1}'), { a: 1 }],
    ["JSON compressed twice", encodedAs("gzip, BR"), brotliCompressSync(gzipSync('{"a":1}')), { a: 1 }],
    [
      "JSON without the end of its compression",
      encodedAs("gzip"),
      gzipSync('{"a":1}').subarray(0, -8),
      { a: 1 },
    ],
  ])("converts a response: %s", async (_, headers, body, result) => {
    expect(await call((response) => response.writeHead(200, headers).end(body), {}, "any")).toEqual(result);
  });

  it("ignores the reason phrase", async () => {
    const answer: ThirdParty["answer"] = (response) => {
      response.writeHead(200, "Succ\u00e8s", { "Content-Type": "application/json" }).end("{}");
    };
    expect(await call(answer)).toEqual({});
  });

  it("converts 204 to an empty result", async () => {
    expect(await call((response) => response.writeHead(204).end())).toEqual({});
  });
});

describe("failing HTTP servers", () => {
  it.each([
    [401, /refused the operator's credentials/],
    [500, /failed \(HTTP 500\)/],
    [302, /redirects, which is not followed/],
    [307, /redirects/],
  ])("reports HTTP %s as TOOL_FAILED without the server's words", async (status, message) => {
    const answer = call((response) =>
      json(response, status, { secret_detail: "internal" }, { Location: `${party.url}/admin` }),
    );
    await expect(answer).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringMatching(message),
    });
    await expect(answer).rejects.toMatchObject({ worked: false });
    await expect(answer).rejects.not.toThrow(/internal|127\.0\.0\.1/);
    expect(party.received).toHaveLength(1);
  });

  it.each([
    [400, { message: "no such city" }, ": no such city"],
    [404, { detail: "no such city" }, ": no such city"],
    [409, { error: { message: "is taken" } }, ": is taken"],
    [422, { detail: [{ loc: ["q"], msg: "is required" }, { msg: "b" }] }, ": is required; b"],
    [418, "a\nteapot", ": a teapot"],
    [400, "<html>internal</html>", ""],
    [400, { secret_detail: "internal" }, ""],
  ])("reports HTTP %s with %j as refused, with the server's words", async (status, body, words) => {
    const answer = call((response) =>
      typeof body === "string" ? response.writeHead(status).end(body) : json(response, status, body),
    );
    await expect(answer).rejects.toMatchObject({
      code: "TOOL_FAILED",
      status: 400,
      rpc: "INVALID_ARGUMENT",
      worked: true,
      message: expect.stringMatching(
        new RegExp(`: the server refused the call \\(HTTP ${status}\\)${words}; nothing was charged$`),
      ),
    });
  });

  it.each([
    [429, "7", 7],
    [503, "99999", 300],
    [503, "soon", 5],
    [429, "Sun, 06 Nov 1994 08:49:37 GMT", 1],
    [503, "Fri, 31 Dec 9999 23:59:59 GMT", 300],
  ])("reports HTTP %s with Retry-After %s as UNAVAILABLE", async (status, header, retryAfterSeconds) => {
    const answer = call((response) => json(response, status, {}, { "Retry-After": header }));
    await expect(answer).rejects.toMatchObject({ code: "UNAVAILABLE", status, retryAfterSeconds });
  });

  it.each<[string, ThirdParty["answer"], RegExp, object?]>([
    [
      "answers with a page instead of JSON",
      (r) => r.setHeader("Content-Type", "text/html").end("<p>"),
      /an undocumented content type/,
    ],
    [
      "answers with JSON that is none",
      (r) => r.setHeader("Content-Type", "application/json").end("{"),
      /could not be read/,
    ],
    [
      "answers in bytes that are no UTF-8",
      (r) => r.setHeader("Content-Type", "application/json").end(Buffer.from([34, 255, 34])),
      /could not be read/,
    ],
    [
      "cuts its answer",
      (r) =>
        r
          .writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" })
          .write('{"a":', () => r.destroy()),
      /connection to the server broke/,
    ],
    [
      "compresses its answer six times",
      (r) => r.writeHead(200, encodedAs("br,br,br,br,br,br")).end("x"),
      /connection to the server broke/,
    ],
    ["cuts before it answers", (r) => r.destroy(), /cannot be reached/],
    ["stalls", () => {}, /did not answer within 0\.2 s/, { timeout_ms: 200 }],
    [
      "stalls in its answer",
      (r) => r.writeHead(200, { "Content-Type": "application/json" }).write("{"),
      /did not answer within 0\.2 s/,
      { timeout_ms: 200 },
    ],
  ])("reports as TOOL_FAILED that the server %s", async (_, answer, message, entry = {}) => {
    const failure = call(answer, { ...entry });
    await expect(failure).rejects.toMatchObject({ message: expect.stringMatching(message), worked: true });
    // Sent once: the server may have done its work.
    expect(party.received).toHaveLength(1);
  });

  const largest = Array.from({ length: 500_000 }, () => 1);
  it.each<[string, ThirdParty["answer"], object]>([
    [
      "floods",
      (r) => flood(r),
      { omitted: "too_long", reason: "the answer is longer than 2097152 bytes", bytes: null },
    ],
    [
      "says how much there is",
      (r) => r.setHeader("Content-Type", "application/json").end(JSON.stringify("x".repeat(2_097_151))),
      { omitted: "too_long", reason: "the answer is longer than 2097152 bytes", bytes: 2_097_153 },
    ],
    [
      "floods, compressed",
      (r) =>
        r
          .writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" })
          .end(gzipSync(" ".repeat(4_000_000))),
      { omitted: "too_long", reason: "the answer is longer than 2097152 bytes", bytes: null },
    ],
    [
      "becomes too large for gRPC only as protobuf",
      (r) => json(r, 200, largest),
      { omitted: "too_long", reason: "the answer is longer than 4128768 bytes", bytes: 1_000_011 },
    ],
  ])("replaces the answer by a placeholder if the server %s", async (_, answer, result) => {
    expect(await call(answer)).toEqual(result);
    expect(party.received).toHaveLength(1);
  });

  it("reports an oversized answer of an undocumented type as TOOL_FAILED", async () => {
    const failure = call((r) => r.setHeader("Content-Type", "text/html").end("x".repeat(3_000_000)));
    await expect(failure).rejects.toMatchObject({ code: "TOOL_FAILED", worked: true });
  });

  it("rejects an invalid status code and closes the connection", async () => {
    let closed = false;
    const failure = call((response) => {
      response.once("close", () => (closed = true));
      flood(response, 600);
    });
    await expect(failure).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect.poll(() => closed).toBe(true);
  });

  it("reports an answer with a secret in any encoding as TOOL_FAILED", async () => {
    const token = "s3cr3t-token-value";
    const headers_env = { Authorization: "TOKEN" };
    const entry = { headers_env, env: { TOKEN: `Bearer ${token}` } };
    const bodies = [
      JSON.stringify({ you_sent: `Bearer ${token}` }),
      JSON.stringify([Buffer.from(token).toString("base64")]),
      `{"a":"${[...token].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join("")}"}`,
      JSON.stringify({ [token]: 1 }),
    ];
    const refused = call(
      (response) => json(response, 400, { message: `${"x".repeat(990)} ${token}` }),
      entry,
    );
    await expect(refused).rejects.toThrow(/refused the call \(HTTP 400\); nothing was charged/);
    for (const body of bodies) {
      const failure = call(
        (response) => response.setHeader("Content-Type", "application/json").end(body),
        entry,
      );
      await expect(failure).rejects.toMatchObject({
        code: "TOOL_FAILED",
        message: /repeats a secret header/,
      });
      expect(party.received.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
      await expect(failure).rejects.not.toThrow(token);
    }
  });
});

describe("requests", () => {
  it("sends Idempotency-Key for unsafe methods, the operator's headers, and the documented types in Accept", async () => {
    await call((response) => json(response, 200, {}), {
      headers_env: { "X-Key": "KEY" },
      env: { KEY: "abcdef1" },
    });
    expect(party.received[0]).toMatchObject({
      method: "POST",
      url: "/op",
      headers: {
        "idempotency-key": "claim_1",
        "x-key": "abcdef1",
        accept: "application/json",
        "user-agent": "toolgate",
      },
    });
    await call((response) => json(response, 200, {}), {}, "get");
    expect(party.received.at(-1)?.headers).not.toHaveProperty("idempotency-key");
  });

  it("reuses connections", async () => {
    party.answer = (response) => json(response, 200, {});
    const backend = await backendOf(file, party.url);
    open.push(backend);
    const before = party.connections;
    for (let turn = 0; turn < 20; turn++) await backend.call({}, CALL);
    expect(party.received).toHaveLength(20);
    expect(party.connections - before).toBeLessThanOrEqual(3);
  });
});

describe("addresses of HTTP servers", () => {
  const found = (...answers: string[]): { lookup: LookupFunction } => ({
    lookup: (_, { all }, callback) => {
      const address = answers.length > 1 ? (answers.shift() ?? "") : (answers[0] ?? "");
      const family = address.includes(":") ? 6 : 4;
      process.nextTick(() => (all ? callback(null, [{ address, family }]) : callback(null, address, family)));
    },
  });

  it.each([
    "127.0.0.1",
    "10.0.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "fd00::1",
    "fe80::1",
    "64:ff9b::7f00:1",
  ])("blocks a server whose name resolves to %s", async (address) => {
    const failure = call((response) => json(response, 200, {}), found(address));
    await expect(failure).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringMatching(/cannot be reached/),
    });
    expect(party.received).toEqual([]);
  });

  it("allows configured hosts, but never link-local addresses", async () => {
    const answer: ThirdParty["answer"] = (response) => json(response, 200, {});
    const entry = { allow_hosts: ["API.example"] };
    expect(await call(answer, { ...entry, ...found("127.0.0.1") })).toEqual({});
    await expect(call(answer, { ...entry, ...found("169.254.169.254") })).rejects.toThrow(
      /cannot be reached/,
    );
    await expect(call(answer, { ...entry, network: "any", ...found("169.254.169.254") })).rejects.toThrow(
      /cannot be/,
    );
  });

  it.each(INSIDE)("reports a document that names %s", async (url) => {
    const backend = backendOf(file, "", { http: { openapi: file, operation_id: url }, allow_hosts: [] });
    await expect(backend).rejects.toThrow(/names the server .* which is blocked/);
  });
});

/** Sends until the client disconnects. */
function flood(response: Parameters<ThirdParty["answer"]>[0], status = 200): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  const more = () => {
    while (!response.destroyed && response.write(" ".repeat(65_536)));
    response.once("drain", more);
  };
  more();
}
