import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { Endpoint, retryAfterMs } from "../../../src/solana/rpc/endpoint.ts";
import { parseEndpointUrl } from "../../../src/solana/rpc/http-post.ts";
import { RpcError, RpcFailure } from "../../../src/solana/rpc/rpc-failure.ts";
import { patient } from "../network.ts";
import { listen } from "../../support/servers.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(listener: RequestListener, credentials = "", attemptMs = 400): Promise<Endpoint> {
  server = createServer(listener);
  const url = parseEndpointUrl(`http://${credentials}127.0.0.1:${await listen(server)}/`, 1);
  return new Endpoint(url, { clock: Date, log: silent, attemptMs });
}

const ask = (endpoint: Endpoint) =>
  endpoint.ask({ method: "getSlot", params: [], read: (result) => result, signal: patient() });

async function requestId(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()).id;
}

/** Answers with a result, in one piece or in chunks. */
async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  result: unknown,
  chunked = false,
): Promise<void> {
  const text = JSON.stringify({ jsonrpc: "2.0", id: await requestId(request), result });
  if (chunked) response.write(text.slice(0, 5));
  else response.setHeader("content-length", Buffer.byteLength(text));
  response.end(chunked ? text.slice(5) : text);
}

const answerOf = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, result: id });

async function expectFailure(endpoint: Endpoint, kind: RpcFailure["kind"]): Promise<void> {
  const error: unknown = await ask(endpoint).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RpcFailure);
  expect(error).toMatchObject({ kind });
}

describe("an endpoint", () => {
  it.each([false, true])("reads results whole, chunked: %s", async (chunked) => {
    const endpoint = await serve(
      (request, response) => void respond(request, response, "é".repeat(9), chunked),
    );
    expect(await ask(endpoint)).toBe("é".repeat(9));
  });

  it("retries once when the server closed a kept connection", async () => {
    let requests = 0;
    const endpoint = await serve((request, response) => {
      requests += 1;
      if (requests === 2) request.socket.destroy();
      else void respond(request, response, requests);
    });
    expect([await ask(endpoint), await ask(endpoint)]).toEqual([1, 3]);
  });

  it("keeps its time limit for the retry", async () => {
    const attemptMs = 4_000;
    let requests = 0;
    const endpoint = await serve(
      (request, response) => {
        requests += 1;
        const late = () => (requests === 2 ? request.socket.destroy() : response.end(answerOf(2)));
        if (requests === 1) response.end(answerOf(1));
        else setTimeout(late, (attemptMs * 5) / 8);
      },
      "",
      attemptMs,
    );
    await ask(endpoint);
    await expectFailure(endpoint, "timeout");
    expect(requests).toBe(3);
  });

  it("leaves nothing open when it is aborted, at any time", async () => {
    // Those of other tests in this process may still close.
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = sockets();
    const open = new Set<Socket>();
    const endpoint = await serve((_request, response) => void response.writeHead(200).write("{"));
    server?.on("connection", (socket: Socket) => open.add(socket.once("close", () => open.delete(socket))));
    for (const turns of [0, 1, 3, 10, 300]) {
      const stop = new AbortController();
      const asked = endpoint.ask({
        method: "getSlot",
        params: [],
        read: (result) => result,
        signal: stop.signal,
      });
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      stop.abort(new Error("enough"));
      await expect(asked).rejects.toThrow("enough");
    }
    await expect.poll(() => open.size).toBe(0);
    await expect.poll(sockets).toBeLessThanOrEqual(before);
  });

  it("fails when the server closes every connection", async () => {
    await expectFailure(await serve((request) => request.socket.destroy()), "network");
  });

  it("fails when the response starts but does not end", async () => {
    const endpoint = await serve((_request, response) => void response.writeHead(200).write("{"));
    await expectFailure(endpoint, "timeout");
  });

  it("fails when the response is cut off", async () => {
    const endpoint = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 }).write("{");
      setTimeout(() => response.destroy(), 20);
    });
    await expectFailure(endpoint, "network");
  });

  it.each([true, false])("rejects an endless response, chunked: %s", async (chunked) => {
    const endpoint = await serve(
      (request, response) => void respond(request, response, "x".repeat(5_000_000), chunked),
      "",
      10_000,
    );
    await expectFailure(endpoint, "malformed");
  });

  it("rejects a compressed response, which it did not request", async () => {
    const endpoint = await serve((_request, response) => {
      response
        .writeHead(200, { "content-encoding": "gzip" })
        .end(gzipSync('{"jsonrpc":"2.0","id":1,"result":1}'));
    });
    await expectFailure(endpoint, "malformed");
  });

  it("reuses one connection for sequential requests", async () => {
    const connections = new Set<unknown>();
    const endpoint = await serve((request, response) => {
      connections.add(request.socket);
      void respond(request, response, 1);
    });
    for (let call = 0; call < 3; call++) await ask(endpoint);
    expect(connections.size).toBe(1);
  });

  it("follows no redirect, whose target would learn the key", async () => {
    let followed = false;
    const endpoint = await serve((request, response) => {
      followed ||= request.url === "/elsewhere";
      response.writeHead(307, { location: "/elsewhere" }).end();
    });
    await expectFailure(endpoint, "network");
    expect(followed).toBe(false);
  });

  it.each([
    ["another id", { jsonrpc: "2.0", id: 999, result: 1 }],
    ["neither result nor error", { jsonrpc: "2.0", id: 1 }],
    ["another version", { jsonrpc: "1.0", id: 1, result: 1 }],
    ["no object", [1]],
  ])("rejects a response with %s", async (_what, answer) => {
    await expectFailure(
      await serve((_request, response) => response.end(JSON.stringify(answer))),
      "malformed",
    );
  });

  it("returns final errors with code and data", async () => {
    const error = { code: -32002, message: "Transaction simulation failed", data: { logs: ["no"] } };
    const endpoint = await serve((_request, response) =>
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, error })),
    );
    const thrown: unknown = await ask(endpoint).catch((reason: unknown) => reason);
    expect(thrown).toBeInstanceOf(RpcError);
    expect(thrown).toMatchObject({ code: -32002, data: { logs: ["no"] } });
  });

  it("sends the credentials of its URL as Basic authorization", async () => {
    const listener: RequestListener = (request, response) =>
      void respond(request, response, request.headers.authorization);
    expect(await ask(await serve(listener, "me:p%40ss@"))).toBe(
      `Basic ${Buffer.from("me:p@ss").toString("base64")}`,
    );
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-11-21T00:00:00Z");
  it.each([
    ["7", 7_000],
    ["0", 0],
    ["Sat, 21 Nov 2026 00:00:20 GMT", 20_000],
    ["Fri, 20 Nov 2026 00:00:00 GMT", 0],
    ["86400", 300_000],
    ["soon", undefined],
    ["-1", 0],
  ])("parses %j as %s ms", (text, ms) => {
    expect(retryAfterMs(text, now)).toBe(ms);
  });

  it("is optional", () => expect(retryAfterMs(undefined, now)).toBeUndefined());
});
