import fc from "fast-check";

/** A request as it is written to the socket. */
export interface FuzzRequest {
  method: string;
  target: string;
  headers: [name: string, value: string][];
  body: string | undefined;
}

/** A valid request of each kind; `id` is a receipt or run of the caller. */
export interface Base {
  method: string;
  path: string;
  query?: [name: string, value: string][];
  body?: Json;
  /** Expected status; default 200. */
  status?: number;
}

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY", "PROPFIND"];

const NAMES = [
  "tool",
  "params",
  "payment_proof",
  "idempotency_key",
  "idempotencyKey",
  "paymentProof",
  "message",
  "model",
  "jsonrpc",
  "id",
  "method",
  "name",
  "arguments",
  "_meta",
  "limit",
  "cursor",
  "status",
  "__proto__",
  "constructor",
  "toString",
  "$typeName",
  "",
  "\u0000",
  "a.b",
  "a[0]",
];

const edge: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  1.5,
  1e308,
  5e-324,
  2 ** 31,
  2 ** 53,
  2 ** 64,
  "",
  "\u0000",
  "\ud800",
  "😀",
  "__proto__",
  "null",
  "1",
  "NaN",
  "2.0",
  "x".repeat(300),
  [],
  {},
  [[]],
  [null],
  { "": {} },
  "echo",
  "tools/call",
  "qt_1",
  "solana-mainnet",
  "svc:qt_1",
);
const scalarText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(
    "%",
    "%00",
    "%zz",
    "%F0%9F%98%80",
    "..",
    ".",
    "*",
    ":",
    "a:b",
    "{id}",
    "0",
    "-1",
    "101",
    "1e400",
    "null",
    "é",
    " ",
  ),
);
const json: fc.Arbitrary<Json> = fc.oneof(
  { weight: 3, arbitrary: edge },
  {
    weight: 1,
    arbitrary: fc.jsonValue({ maxDepth: 4, noUnicodeString: false }).map((value) => value as Json),
  },
);

/** A place in a JSON value, as numbers that choose a child at each level, and what happens there. */
const edit = fc.record({
  way: fc.array(fc.nat(20), { maxLength: 5 }),
  kind: fc.constantFrom("replace", "remove", "add", "wrap", "repeat"),
  name: fc.oneof(fc.constantFrom(...NAMES), fc.string({ maxLength: 6 })),
  value: json,
});
type Edit = typeof edit extends fc.Arbitrary<infer E> ? E : never;

/** Mostly nothing, so that a request with several mutations is still near a good one. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** How the text of a body is damaged after its edits. */
const damage = rarely(
  fc.record({ at: fc.nat(400), drop: fc.nat(5), insert: fc.string({ unit: "binary", maxLength: 4 }) }),
);

const header: fc.Arbitrary<[string, string]> = fc.tuple(
  fc.constantFrom(
    "X-Payment",
    "X-Payment",
    "PAYMENT-SIGNATURE",
    "PAYMENT-SIGNATURE",
    "Idempotency-Key",
    "Idempotency-Key",
    "Content-Type",
    "Accept",
    "Content-Encoding",
    "MCP-Protocol-Version",
    "Mcp-Session-Id",
    "Origin",
    "Prefer",
    "Connect-Timeout-Ms",
    "Expect",
    "If-None-Match",
    "Range",
    "X-HTTP-Method-Override",
    "X-Request-Id",
    "Traceparent",
    "Cookie",
  ),
  fc.oneof(
    fc.constantFrom(
      "",
      "*/*",
      "application/json",
      "text/plain",
      "gzip",
      "0",
      "a, b",
      "2025-11-25",
      "100-continue",
      "payment=in-band",
      "GET",
      "bytes=0-1",
      "req_x",
      "application/json; charset=utf-16",
    ),
    fc.string({ unit: "grapheme-ascii", maxLength: 30 }),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("base64url")),
    json.map((value) => Buffer.from(JSON.stringify(value)).toString("base64url")),
    fc
      .record({
        tx: fc.constantFrom("1".repeat(64), "1".repeat(88), ""),
        quote_id: fc.oneof(fc.constantFrom("qt_1", "\u0000", "\ud800"), fc.string({ maxLength: 9 })),
      })
      .map((proof) => Buffer.from(JSON.stringify(proof)).toString("base64url")),
    fc
      .record({
        x402Version: fc.constantFrom(1, 2, "2"),
        ...{ scheme: fc.constantFrom("exact", 1), network: fc.constantFrom("solana", "") },
        payload: fc.record({ transaction: fc.oneof(fc.base64String({ maxLength: 200 }), json) }),
        accepted: fc.oneof(
          fc.constant({ scheme: "", network: "n", amount: "1", asset: "a", payTo: "p" }),
          json,
        ),
      })
      .map((payload) => Buffer.from(JSON.stringify(payload)).toString("base64")),
  ),
);

/** Requests that are near good ones: each starts as one of `bases` and is mutated at a few places. */
export function nearValid(
  bases: readonly Base[],
  authorizations: readonly string[],
): fc.Arbitrary<FuzzRequest> {
  const segment = fc.record({
    at: fc.nat(4),
    kind: fc.constantFrom("replace", "insert", "remove", "double"),
    text: scalarText,
  });
  return fc
    .record({
      base: fc.constantFrom(...bases),
      method: rarely(fc.constantFrom(...METHODS)),
      path: rarely(segment),
      query: rarely(
        fc.array(fc.tuple(fc.oneof(fc.constantFrom(...NAMES), scalarText), scalarText), {
          minLength: 1,
          maxLength: 2,
        }),
      ),
      edits: fc.array(edit, { maxLength: 3 }),
      damage,
      headers: fc.oneof(
        { weight: 3, arbitrary: fc.constant<FuzzRequest["headers"]>([]) },
        { weight: 2, arbitrary: fc.array(header, { maxLength: 3 }) },
      ),
      authorization: fc.constantFrom(...authorizations),
    })
    .map(({ base, method, path, query, edits, damage: harm, headers, authorization }) => {
      const parts = [...(base.query ?? []), ...(query ?? [])].map(
        ([name, value]) => `${escaped(name)}=${escaped(value)}`,
      );
      const body =
        base.body === undefined && edits.length < 2 ? undefined : edits.reduce(applyEdit, base.body ?? null);
      const text = body === undefined ? undefined : harmed(JSON.stringify(body), harm);
      return {
        method: method ?? base.method,
        target: mutatedPath(base.path, path) + (parts.length > 0 ? `?${parts.join("&")}` : ""),
        headers: [
          ...(authorization === "" ? [] : [["Authorization", authorization] as [string, string]]),
          ...(text === undefined || headers.some(([name]) => name === "Content-Type")
            ? []
            : [["Content-Type", "application/json"] as [string, string]]),
          ...headers,
        ],
        body: text,
      };
    });
}

/** The request's bytes, with `Connection: close`. */
export function bytesOf({ method, target, headers, body }: FuzzRequest): Buffer {
  const bytes = Buffer.from(body ?? "");
  const lines: FuzzRequest["headers"] = [["Host", "localhost"], ["Connection", "close"], ...headers];
  if (body !== undefined) lines.push(["Content-Length", String(bytes.length)]);
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${text}\r\n`, "latin1"), bytes]);
}

function mutatedPath(path: string, mutation: { at: number; kind: string; text: string } | undefined): string {
  if (!mutation) return path;
  const segments = path.slice(1).split("/");
  const at = mutation.at % segments.length;
  const here = segments[at] ?? "";
  const put =
    {
      replace: [escaped(mutation.text)],
      insert: [here, escaped(mutation.text)],
      remove: [],
      double: [here, here],
    }[mutation.kind] ?? [];
  segments.splice(at, 1, ...put);
  return `/${segments.join("/")}`;
}

/** Valid in a request line: escapes what a client would escape, and keeps existing escapes, valid or not. */
function escaped(text: string): string {
  return text.toWellFormed().replace(/[^!-~]|[#]/gu, (character) => encodeURIComponent(character));
}

function harmed(text: string, harm: { at: number; drop: number; insert: string } | undefined): string {
  if (!harm) return text;
  const at = harm.at % (text.length + 1);
  return text.slice(0, at) + harm.insert + text.slice(at + harm.drop);
}

function applyEdit(value: Json, { way, kind, name, value: put }: Edit): Json {
  const [first, ...rest] = way;
  if (first !== undefined && typeof value === "object" && value !== null) {
    const keys = Object.keys(value);
    const key = keys[first % (keys.length || 1)];
    if (key !== undefined) {
      if (Array.isArray(value)) {
        const child = value[Number(key)] ?? null;
        if (rest.length === 0 && kind === "remove") return value.filter((_, index) => index !== Number(key));
        return value.with(Number(key), applyEdit(child, { way: rest, kind, name, value: put }));
      }
      if (rest.length === 0 && kind === "remove")
        return Object.fromEntries(Object.entries(value).filter(([one]) => one !== key));
      const child = applyEdit(value[key] ?? null, { way: rest, kind, name, value: put });
      return Object.fromEntries(Object.entries(value).map(([one, old]) => [one, one === key ? child : old]));
    }
  }
  switch (kind) {
    case "add":
      return typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries([...Object.entries(value), [name, put]])
        : put;
    case "wrap":
      return [value];
    case "repeat":
      return [value, value];
    default:
      return put;
  }
}
