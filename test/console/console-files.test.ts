import { randomBytes } from "node:crypto";
import { createServer, request, type IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openConsoleFiles, type ConsoleFilesSettings } from "../../src/gateway/console-files.ts";
import { ConsoleOrigin } from "../../src/transport/console-server/console-origin.ts";
import { createLogger } from "../../src/log.ts";
import { secret } from "../support/record.ts";
import { listen } from "../support/servers.ts";

interface Served {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Serves the built files with these settings on another server. */
async function serve(settings: Partial<ConsoleFilesSettings> & { url?: string } = {}) {
  const { url, ...more } = settings;
  const server = createServer((request, response) => files.handle(request, response));
  const port = await listen(server);
  const place = new ConsoleOrigin({
    host: "127.0.0.1",
    publicUrl: url,
    url: () => url ?? `http://127.0.0.1:${port}/console`,
  });
  const log = createLogger("silent", { secrets: [] });
  const files = openConsoleFiles({
    config: { HOST: "127.0.0.1" },
    origin: place,
    devConsole: undefined,
    log,
    ...more,
  });
  return {
    close: () => server.close(),
    // Not fetch, which normalises paths and decompresses bodies.
    ask: (target: string, headers: Record<string, string> = {}, method = "GET") =>
      new Promise<Served>((resolve, reject) => {
        const asked = request({ port, host: "127.0.0.1", path: target, method, headers }, (response) => {
          const { statusCode: status = 0, headers } = response;
          response
            .toArray()
            .then((chunks) => resolve({ status, headers, body: Buffer.concat(chunks) }), reject);
        });
        asked.on("error", reject).end();
      }),
  };
}

let server: Awaited<ReturnType<typeof serve>>;
let script: string;

beforeAll(async () => {
  server = await serve();
  const page = await server.ask("/console/");
  script =
    /src="(?<script>\/console\/assets\/[^"]+\.js)"/.exec(page.body.toString())?.groups?.["script"] ?? "";
});
afterAll(() => server.close());

describe("console page", () => {
  it("is served at /console/, which /console redirects to", async () => {
    const { status, headers } = await server.ask("/console");
    expect([status, headers.location]).toEqual([308, "/console/"]);
    const page = await server.ask("/console/");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers["cache-control"]).toBe("no-cache");
  });

  it("contains no inline script or style", async () => {
    const html = (await server.ask("/console/")).body.toString();
    expect(script).not.toBe("");
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/);
  });

  it("is served at every page URL but not at missing files", async () => {
    const page = (await server.ask("/console/")).body;
    for (const target of ["/console/keys", "/console/receipts/rcpt_1", "/console/operator/accounts?q=1.js"])
      expect((await server.ask(target)).body, target).toEqual(page);
    for (const target of ["/console/assets/gone.js", "/console/favicon.ico", "/console/.env"])
      expect((await server.ask(target)).status, target).toBe(404);
  });

  it.each([
    "/console/../package.json",
    "/console/..%2f..%2fpackage.json",
    "/console/%2e%2e/%2e%2e/package.json",
    "/console/assets/..\\..\\..\\package.json",
    "/console//etc/hosts.txt",
    "/console/assets/../../../package.json",
    "/console/console.sources.json",
    "/console/__proto__.js",
  ])("does not serve other files: %s", async (target) => {
    const { status, body } = await server.ask(target);
    expect([status, body.toString()]).toEqual([404, "No file matches this path.\n"]);
  });
});

describe("console assets", () => {
  it("are cached for a year because their names contain a hash", async () => {
    const { status, headers } = await server.ask(script);
    expect([status, headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"]);
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  });

  it("are served with the best accepted compression", async () => {
    const plain = await server.ask(script);
    const [br, gzip] = [
      await server.ask(script, { "accept-encoding": "gzip, deflate, br" }),
      await server.ask(script, { "accept-encoding": "gzip, br;q=0" }),
    ];
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect([br.headers["content-encoding"], gzip.headers["content-encoding"]]).toEqual(["br", "gzip"]);
    expect(brotliDecompressSync(br.body)).toEqual(plain.body);
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    for (const { headers } of [plain, br, gzip]) expect(headers.vary).toBe("Accept-Encoding");
    expect(new Set([plain, br, gzip].map(({ headers }) => headers.etag)).size).toBe(3);
  });

  it("answers 304 to a matching ETag", async () => {
    const accept = { "accept-encoding": "br" };
    const { headers } = await server.ask("/console/", accept);
    const again = await server.ask("/console/", { ...accept, "if-none-match": `"other", W/${headers.etag}` });
    expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, headers.etag]);
    expect((await server.ask("/console/", { ...accept, "if-none-match": '"other"' })).status).toBe(200);
  });

  it("support HEAD and reject other methods", async () => {
    const [got, head] = [await server.ask(script), await server.ask(script, {}, "HEAD")];
    expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([
      200,
      0,
      got.headers["content-length"],
    ]);
    const posted = await server.ask("/console/", {}, "POST");
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD"]);
  });

  it("include a favicon", async () => {
    const html = (await server.ask("/console/")).body.toString();
    const icon = /rel="icon" href="([^"]+)"/.exec(html)?.[1] ?? "";
    expect((await server.ask(icon)).headers["content-type"]).toBe("image/svg+xml");
  });
});

describe("console response headers", () => {
  it("set security headers on every response", async () => {
    for (const target of ["/console", "/console/", "/console/connect/a_1-b", script, "/console/gone.js"]) {
      const { headers } = await server.ask(target);
      expect(headers, target).toMatchObject({
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src " +
          "'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
        "cross-origin-opener-policy": "same-origin-allow-popups",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      });
      expect(headers["strict-transport-security"], target).toBeUndefined();
    }
  });

  it("set HSTS when the console uses https", async () => {
    const secure = await serve({ url: "https://tools.example/console" });
    expect((await secure.ask("/console/")).headers["strict-transport-security"]).toBe("max-age=31536000");
    secure.close();
  });
});

describe("sign-in page", () => {
  const heading = "Sign in with your wallet</h1>";
  const session = { cookie: `toolgate_session=${"a".repeat(43)}` };

  async function shown(headers: Record<string, string>, { ask } = server, target = "/console/keys") {
    const { body, headers: answered } = await ask(target, headers);
    expect(answered.vary).toBe("Accept-Encoding, Cookie, Sec-Fetch-Site");
    return body.toString().includes(heading);
  }

  it("is in the HTML for visitors without a session only", async () => {
    expect(await shown({})).toBe(true);
    expect(await shown({ cookie: "other=1; toolgate_session=short" })).toBe(true);
    expect(await shown(session)).toBe(false);
    const [stranger, account] = [await server.ask("/console/"), await server.ask("/console/", session)];
    expect(stranger.headers.etag).not.toBe(account.headers.etag);
  });

  it("is not when another site leads here: browsers leave out the cookie then", async () => {
    expect(await shown({ "sec-fetch-site": "cross-site" })).toBe(false);
    expect(await shown({ "sec-fetch-site": "none" })).toBe(true);
  });

  it("is not at the tools when they are shown without a sign-in", async () => {
    const open = await serve({ config: { HOST: "127.0.0.1", CONSOLE_PUBLIC_TOOLS: "on" } });
    expect(await shown({}, open, "/console/tools/vram_estimate")).toBe(false);
    expect(await shown({}, open)).toBe(true);
    expect(await shown({}, server, "/console/tools")).toBe(true);
    open.close();
  });
});

describe("tools without a sign-in", () => {
  it("are marked on the page only when the operator turns them on", async () => {
    const mark = "toolgate-public-tools";
    expect((await server.ask("/console/tools")).body.toString()).not.toContain(mark);
    const open = await serve({ config: { HOST: "127.0.0.1", CONSOLE_PUBLIC_TOOLS: "on" } });
    expect((await open.ask("/console/tools")).body.toString()).toContain(mark);
    open.close();
  });
});

describe("gateway without a built console", () => {
  it("answers 503 with the build command at every console URL", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "toolgate-console-"));
    const bare = await serve({ folder });
    for (const target of ["/console/", "/console/keys", script]) {
      const { status, headers, body } = await bare.ask(target);
      expect([status, headers["content-type"]]).toEqual([503, "text/plain; charset=utf-8"]);
      expect(body.toString()).toContain("npm run build:console");
    }
    bare.close();
    rmSync(folder, { recursive: true });
  });
});

describe("development wallet key", () => {
  const secretKey = secret("a development wallet's secret key", randomBytes(64));
  const target = "/console/dev-wallet.json";
  const mark = "toolgate-dev-wallet";

  it("is not served in production", async () => {
    expect((await server.ask(target)).status).toBe(404);
    expect((await server.ask("/console/")).body.toString()).not.toContain(mark);
  });

  it("is served to the console page only and never cached", async () => {
    const dev = await serve({ devConsole: { wallet: secretKey } });
    const given = await dev.ask(target, { "sec-fetch-site": "same-origin" });
    expect(JSON.parse(given.body.toString())).toEqual({ secret_key: [...secretKey] });
    expect(given.headers).toMatchObject({ "cache-control": "no-store", "content-type": "application/json" });
    expect((await dev.ask("/console/keys")).body.toString()).toContain(mark);
    for (const headers of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { host: "rebound.example" },
      { origin: "http://127.0.0.1:1" },
    ]) {
      const refused = await dev.ask(target, headers);
      expect([refused.status, refused.body.includes("secret")], JSON.stringify(headers)).toEqual([
        403,
        false,
      ]);
    }
    dev.close();
  });

  it.each([
    { HOST: "0.0.0.0" },
    { HOST: "127.0.0.1", PUBLIC_URL: "https://tunnel.example" },
    { HOST: "127.0.0.1", CONSOLE_URL: "https://tunnel.example/console" },
    { HOST: "127.0.0.1", PUBLIC_URL: "https://tunnel.example", CONSOLE_URL: "http://127.0.0.1:8080/console" },
  ])("is not served when other machines can connect: %j", async (config) => {
    const open = await serve({ config, devConsole: { wallet: secretKey } });
    expect((await open.ask(target)).status).toBe(404);
    expect((await open.ask("/console/")).body.toString()).not.toContain(mark);
    open.close();
  });
});
