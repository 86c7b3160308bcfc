import { spawnSync } from "node:child_process";
import { hash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http, { type IncomingMessage } from "node:http";
import http2 from "node:http2";
import { once } from "node:events";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bucketOf, shareBuckets } from "../../src/cli/router-maps.ts";
import { replaceMap } from "../../src/cli/cell-maps.ts";
import { restartPort } from "../support/ports.ts";
import { findHaproxy, startCellRouter } from "../../src/dev/haproxy.ts";
import { newApiKey } from "../../src/domain/accounts/api-key.ts";
import { SealedNonces } from "../../src/domain/accounts/sealed-nonce.ts";
import { cellOf, newId } from "../../src/domain/core/ids.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { listen } from "../support/servers.ts";
import { expectError } from "../contract/error-body.ts";
import { ROOT } from "../tooling/command.ts";

const HAPROXY = findHaproxy();
const CELLS = path.join(ROOT, "deploy/cells");
const NUMBERS = [1, 2, 3];

const secret = { version: 1, secret: randomBytes(32) };
const keys = { current: () => secret, version: () => secret };
const keyOf = (cell: number) => newApiKey(secret, systemRandom, cell);
const nonceOf = (cell: number) =>
  new SealedNonces(keys, systemClock, systemRandom, cellOf(cell)).issue().nonce;
const quoteOf = (cell: number) =>
  new Quotes(keys, systemClock, systemRandom, 300, cellOf(cell)).issue(
    newId("acct", systemClock, systemRandom),
    1n,
    Buffer.alloc(32),
  ).quoteId;
const base64 = (content: object) => Buffer.from(JSON.stringify(content)).toString("base64");
const paying = (cell: number) =>
  base64({ x402Version: 2, payload: {}, accepted: { extra: { memo: `svc:${quoteOf(cell)}` } } });
const crediting = (cell: number) => {
  const base64url = (content: object) => Buffer.from(JSON.stringify(content)).toString("base64url");
  const opaque = base64url({ quote_id: quoteOf(cell) });
  return `Payment ${base64url({ challenge: { opaque }, payload: {} })}`;
};
const signingIn = (cell: number) => base64({ domain: "gateway.example", nonce: nonceOf(cell), address: "A" });

const closing: (() => Promise<unknown> | void)[] = [];
let baseUrl = "";
let grpcUrl = "";
/** Of a router behind another proxy. */
let behindUrl = "";

/** Headers of the last request over HTTP and over h2c. */
const received: { http?: object; grpc?: object } = {};

/** Servers that answer with the number of their cell, over HTTP and over h2c. */
async function standIn(cell: number): Promise<{ http: number; grpc: number }> {
  const one = http.createServer(({ headers, url }, response) => {
    // Not of a health check.
    if (url === "/") received.http = headers;
    if (url === "/cut") response.destroy();
    else response.end(String(cell));
  });
  const two = http2.createServer(({ headers }, response) => {
    received.grpc = headers;
    response.end(String(cell));
  });
  for (const server of [one, two]) closing.push(() => void server.close());
  return { http: await listen(one), grpc: await listen(two) };
}

const folder = mkdtempSync(path.join(tmpdir(), "toolgate-router-"));
const router = { socket: "" };

beforeAll(async () => {
  if (HAPROXY === undefined) return;
  const servers = await Promise.all(NUMBERS.map(standIn));
  const [http, grpc] = [`127.0.0.1:${await restartPort()}`, `127.0.0.1:${await restartPort()}`];
  const cells = servers.map((server) => ({
    http: `127.0.0.1:${server.http}`,
    grpc: `127.0.0.1:${server.grpc}`,
  }));
  const proxy = await startCellRouter(HAPROXY, { http, grpc, cells }, folder);
  closing.push(() => proxy.stop());
  router.socket = proxy.socket;
  [baseUrl, grpcUrl] = [`http://${http}`, `http://${grpc}`];
  const [second, secondGrpc] = [`127.0.0.1:${await restartPort()}`, `127.0.0.1:${await restartPort()}`];
  const addresses = { http: second, grpc: secondGrpc, cells };
  const behind = await startCellRouter(HAPROXY, addresses, path.join(folder, "behind"), {
    BEHIND_PROXY: "1",
  });
  closing.push(() => behind.stop());
  behindUrl = `http://${second}`;
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(folder, { recursive: true });
});

const cellFor = async (headers: Record<string, string>) =>
  Number(await (await fetch(baseUrl, { headers })).text());

describe.skipIf(HAPROXY === undefined)("deploy/cells/haproxy.cfg", () => {
  it.each([
    ["an API key", (cell: number) => ({ authorization: `Bearer ${keyOf(cell)}` })],
    [
      "an API key beside a payment",
      (cell: number) => ({ authorization: "Payment e30", "x-api-key": keyOf(cell) }),
    ],
    ["a wallet's payment by the scheme Payment", (cell: number) => ({ authorization: crediting(cell) })],
    ["a wallet's payment of a quote", (cell: number) => ({ "payment-signature": paying(cell) })],
    ["a wallet's sign-in", (cell: number) => ({ "sign-in-with-x": signingIn(cell) })],
    ["a console session", (cell: number) => ({ cookie: `a=b; toolgate_session=${cell}.abc` })],
    ["a console session over https", (cell: number) => ({ cookie: `__Host-toolgate_session=${cell}.abc` })],
  ])("sends %s to its cell", async (_, headersOf) => {
    for (const cell of [...NUMBERS, ...NUMBERS]) expect(await cellFor(headersOf(cell))).toBe(cell);
  });

  it("decides by the key, then the payment, then the sign-in, then the session", async () => {
    const session = { cookie: "toolgate_session=1.abc" };
    const signedIn = { ...session, "sign-in-with-x": signingIn(2) };
    const paid = { ...signedIn, "payment-signature": paying(3) };
    expect(await cellFor(signedIn)).toBe(2);
    expect(await cellFor(paid)).toBe(3);
    expect(await cellFor({ ...paid, authorization: `Bearer ${keyOf(1)}` })).toBe(1);
    expect(await cellFor({ "x-api-key": keyOf(2), authorization: `Bearer ${keyOf(1)}` })).toBe(1);
    expect(await cellFor({ "x-api-key": keyOf(1), authorization: crediting(2) })).toBe(1);
  });

  it("sends names without a cell, and of a cell that it does not know, to the first", async () => {
    for (const cell of [0, 9, 65_535])
      expect(await cellFor({ authorization: `Bearer ${keyOf(cell)}` })).toBe(1);
  });

  it("spreads wallets over the cells and sends each to the same one again", async () => {
    const wallets = Array.from({ length: 40 }, () => ({ "x-wallet": randomBytes(16).toString("hex") }));
    const cells = await Promise.all(wallets.map(cellFor));
    expect(new Set(cells)).toEqual(new Set(NUMBERS));
    expect(await Promise.all(wallets.map(cellFor))).toEqual(cells);
  });

  it("spreads callers without a name by their address, behind another proxy by the one that it adds", async () => {
    const addresses = Array.from({ length: 20 }, (_, at) => `198.51.100.${at}`);
    const cellsFrom = (base: string) =>
      Promise.all(
        addresses.map(async (address) => {
          const headers = { "x-forwarded-for": `203.0.113.9, ${address}` };
          return Number(await (await fetch(base, { headers })).text());
        }),
      );
    expect(new Set(await cellsFrom(baseUrl)).size).toBe(1);
    expect(new Set(await cellsFrom(behindUrl))).toEqual(new Set(NUMBERS));
  });

  it("serves callers whose names cannot be read", async () => {
    const address = await cellFor({});
    const unreadable = [
      { authorization: "Bearer sk-agent-0OIl" },
      { authorization: `Bearer sk-agent-${"z".repeat(300)}` },
      { "payment-signature": "%%%" },
      { authorization: "Payment %%%" },
      { authorization: "Payment e30" },
      { "x-api-key": "none" },
      { "payment-signature": base64({ memo: "svc:qt_0" }) },
      { "sign-in-with-x": base64({ nonce: 5 }) },
      { cookie: "toolgate_session=abc.def" },
    ];
    expect(await Promise.all(unreadable.map(cellFor))).toEqual(unreadable.map(() => address));
  });

  it("sends a key that has moved to the cell of its account, as soon as its map says so", async () => {
    const [moved, other] = [keyOf(2), keyOf(2)];
    const route = new Map([[hash("sha256", moved, "hex"), 3]]);
    await replaceMap(router.socket, path.join(folder, "keys.map"), route);
    expect(await cellFor({ authorization: `Bearer ${moved}` })).toBe(3);
    expect(await cellFor({ authorization: `Bearer ${other}` })).toBe(2);
    await replaceMap(router.socket, path.join(folder, "keys.map"), new Map());
    expect(await cellFor({ authorization: `Bearer ${moved}` })).toBe(2);
  });

  it("sends new wallets by the weights of the cells, and others to their account", async () => {
    const wallets = Array.from({ length: 30 }, () => base58.encode(randomBytes(32)));
    const even = shareBuckets(new Map(), new Map(NUMBERS.map((cell) => [cell, 1])));
    const drained = shareBuckets(even, new Map([[1, 1], [2, 0], [3, 1]])); // prettier-ignore
    await replaceMap(router.socket, path.join(folder, "buckets.map"), drained);
    await replaceMap(router.socket, path.join(folder, "wallets.map"), new Map([[wallets[0] ?? "", 2]]));
    const cells = await Promise.all(wallets.map((wallet) => cellFor({ "x-wallet": wallet })));
    expect(cells).toEqual(
      wallets.map((wallet, at) => (at === 0 ? 2 : drained.get(String(bucketOf(wallet))))),
    );
    expect(new Set(cells.slice(1))).toEqual(new Set([1, 3]));
    for (const map of ["buckets.map", "wallets.map"])
      await replaceMap(router.socket, path.join(folder, map), map === "buckets.map" ? even : new Map());
  });

  it("sends gRPC calls to the cell of their key", async () => {
    const session = http2.connect(grpcUrl);
    try {
      for (const cell of NUMBERS) {
        const stream = session.request({ ":path": "/", authorization: `Bearer ${keyOf(cell)}` });
        stream.setEncoding("utf8");
        let body = "";
        for await (const chunk of stream) body += String(chunk);
        expect(body).toBe(String(cell));
      }
    } finally {
      session.close();
    }
  });

  it("lets no caller choose the names of requests and traces", async () => {
    const ids = {
      "x-request-id": "req_mine",
      traceparent: `00-${"1".repeat(32)}-${"1".repeat(16)}-01`,
      tracestate: "a=b",
    };
    await cellFor(ids);
    const session = http2.connect(grpcUrl);
    const stream = session.request({ ":path": "/", ...ids });
    for await (const _ of stream);
    session.close();
    for (const headers of [received.http, received.grpc]) {
      expect(headers).toHaveProperty("x-forwarded-for");
      expect(Object.keys(headers ?? {}).filter((name) => name in ids)).toEqual([]);
    }
  });

  it("answers with an error body, and the same as before one deployment, for a cell that answers nothing", async () => {
    // A connection of its own: on one that was used before HAProxy leaves it to the client to try again.
    const [response] = (await once(http.get(`${baseUrl}/cut`, { agent: false }), "response")) as [
      IncomingMessage,
    ];
    const { statusCode: status = 0, headers } = response;
    const answer = {
      status,
      headers: new Headers(
        Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ),
    };
    // 503: the router finds the cell down on a busy machine.
    expect([502, 503]).toContain(status);
    expectError({ ...answer, body: JSON.parse(await text(response)) }, status, "UNAVAILABLE");
    const errors = (file: string) =>
      readFileSync(path.join(ROOT, "deploy", file), "utf8").match(/^ +http-error .*$/gm);
    expect(errors("cells/haproxy.cfg")).toEqual(errors("haproxy/haproxy.cfg"));
  });

  it("is valid with its defaults", () => {
    const check = ["-c", "-f", path.join(CELLS, "haproxy.cfg")];
    const { status, stderr } = spawnSync(HAPROXY ?? "", check, { env: { CELLS }, encoding: "utf8" });
    expect(status, stderr).toBe(0);
  });
});
