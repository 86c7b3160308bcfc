import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { type ExportFile, dateOf } from "../../../src/transport/exports/export-file.ts";
import { serveExports } from "../export-server.ts";

let server: Awaited<ReturnType<typeof serveExports>> | undefined;
afterEach(() => server?.close());

/** A file of these chunks that records when it is abandoned. */
function fileOf(parts: () => AsyncIterable<string>): ExportFile & { left: number } {
  const leaving = async function* () {
    try {
      yield* parts();
    } finally {
      file.left++;
    }
  };
  const file = {
    path: "/file.csv",
    parameters: ["from", "to"],
    left: 0,
    async open(_: string, parameters: ReadonlyMap<string, string>) {
      dateOf(parameters, "from");
      return { name: "file.csv", parts: leaving() };
    },
  };
  return file;
}

async function* endless(part: string) {
  for (;;) yield part;
}

describe("a file", () => {
  it("streams a named, uncached file without a length", async () => {
    server = await serveExports("acct", [
      fileOf(async function* () {
        yield "a,b\r\n";
        yield "";
        yield "1,2\r\n";
      }),
    ]);
    const response = await server.get("/file.csv");
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="file.csv"',
      "cache-control": "no-store",
      "transfer-encoding": "chunked",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe("\uFEFFa,b\r\n1,2\r\n");
    expect(await (await server.get("/file.csv", { method: "HEAD" })).text()).toBe("");
  });

  it("allows two downloads per account at once and any number in sequence", async () => {
    server = await serveExports("acct", [fileOf(() => endless("x".repeat(10_000)))]);
    const reading = [new AbortController(), new AbortController()];
    for (const { signal } of reading) expect((await server.get("/file.csv", { signal })).status).toBe(200);
    const third = await server.get("/file.csv");
    expect([third.status, await third.json()]).toEqual([
      503,
      { code: "UNAVAILABLE", message: expect.stringMatching(/^2 downloads of this account are running/) },
    ]);
    reading[0]?.abort();
    await expect.poll(async () => (await server?.get("/file.csv", { method: "HEAD" }))?.status).toBe(200);
    reading[1]?.abort();
  });

  it.each([
    ["/file.csv?from=2026-02-30", "GET", 400, /^from: must be a day as YYYY-MM-DD/],
    ["/file.csv?from=2026-2-3", "GET", 400, /^from: /],
    ["/file.csv?from=", "GET", 400, /^from: /],
    ["/file.csv?since=2026-01-01", "GET", 400, /^since: is not a parameter; use from, to/],
    ["/file.csv?to=2026-01-01&to=2026-01-02", "GET", 400, /^to: must appear once/],
    ["/other.csv", "GET", 404, /file\.csv/],
    ["/file.csv", "POST", 405, /GET, HEAD/],
  ])("returns a JSON error: %s %s", async (path, method, status, message) => {
    server = await serveExports("acct", [fileOf(() => endless("x"))]);
    const response = await server.get(path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ message: expect.stringMatching(message) });
  });

  it("returns an error response when the first chunk fails", async () => {
    server = await serveExports("acct", [
      // oxlint-disable-next-line require-yield
      fileOf(async function* () {
        throw new ToolgateError("UNAVAILABLE", "the database is away");
      }),
    ]);
    const response = await server.get("/file.csv");
    expect([response.status, await response.json()]).toEqual([
      503,
      { code: "UNAVAILABLE", message: "the database is away" },
    ]);
  });

  it("destroys the connection and logs when a later chunk fails", async () => {
    const arrived = Promise.withResolvers<void>();
    server = await serveExports("acct", [
      fileOf(async function* () {
        yield "a\r\n";
        await arrived.promise;
        throw new Error("lost");
      }),
    ]);
    const response = await server.get("/file.csv");
    arrived.resolve();
    await expect(response.text()).rejects.toThrow();
    const { logged } = server;
    await expect.poll(() => logged).toEqual([expect.objectContaining({ message: "lost" })]);
  });

  it("stops when the reader disconnects", async () => {
    const file = fileOf(() => endless("x".repeat(10_000)));
    server = await serveExports("acct", [file]);
    const gone = new AbortController();
    const response = await server.get("/file.csv", { signal: gone.signal });
    await response.body?.getReader().read();
    gone.abort();
    await expect.poll(() => file.left).toBe(1);
    expect(server.logged).toEqual([]);
  });

  it("stops for a stalled reader and produces no faster than it reads", async () => {
    let made = 0;
    const file = fileOf(async function* () {
      for (; ; made++) yield "x".repeat(100_000);
    });
    server = await serveExports("acct", [file], { graceMs: 300, bytesPerSecond: 1e9 });
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write("GET /file.csv HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(() => file.left).toBe(1);
    // No more than the machine's own buffers.
    expect(made).toBeLessThan(1_000);
    socket.destroy();
  });

  it("stops for a reader below the minimum rate and serves faster ones", async () => {
    const file = fileOf(() => endless("x".repeat(100_000)));
    server = await serveExports("acct", [file], { graceMs: 1_000, bytesPerSecond: 1_000_000 });
    const socket = connect(server.port, "127.0.0.1");
    let taken = 0;
    socket.on("error", () => {}).on("data", ({ length }) => (taken += length));
    socket.write("GET /file.csv HTTP/1.1\r\nHost: x\r\n\r\n");
    await expect.poll(() => taken).toBeGreaterThan(30_000_000);
    expect(file.left).toBe(0);
    const sips = setInterval(() => {
      socket.resume();
      socket.once("data", () => socket.pause());
    }, 250);
    await expect.poll(() => file.left).toBe(1);
    clearInterval(sips);
    socket.destroy();
    expect(server.logged).toEqual([]);
  });
});
