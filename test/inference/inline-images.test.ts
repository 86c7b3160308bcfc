import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ChatCompletion } from "../../src/domain/tools/chat.ts";
import { ImageInliner } from "../../src/inference/inline-images.ts";
import { UpstreamModels } from "../../src/inference/upstream-models.ts";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";
import { closeServer, listen } from "../support/servers.ts";
import { COMPLETION, json, modelServer, type ModelServer } from "./model-server.ts";
import { settingsFor, SHOP, TERMS } from "./upstream-settings.ts";

const PIXEL = Buffer.from("89504e470d0a1a0a", "hex");
const PNG = { "content-type": "image/png; charset=binary" };
const MIB = 1024 * 1024;

type Page = (response: ServerResponse, request: IncomingMessage) => unknown;
const redirect = (location: string) => (response: ServerResponse) =>
  response.writeHead(302, { location }).end();
let waiting = Promise.withResolvers<IncomingMessage>();
const PAGES: Readonly<Record<string, Page>> = {
  "/a.png": (response) => response.writeHead(200, PNG).end(PIXEL),
  "/moved": redirect("/a.png"),
  "/circle": redirect("/circle"),
  "/inside": (response) => redirect(`http://localhost:${port}/a.png`)(response),
  "/file": redirect("file:///etc/passwd"),
  "/named": (response) => redirect(`http://user:pass@127.0.0.1:${port}/a.png`)(response),
  "/page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("secret"),
  "/gone": (response) => response.writeHead(404, PNG).end("secret"),
  "/large": (response) => response.writeHead(200, PNG).end(Buffer.alloc(5 * MIB)),
  "/waits": (_, request) => waiting.resolve(request),
};

let port: number;
let asked: { url: string | undefined; headers: string[] }[] = [];
const images = createServer((request, response) => {
  asked.push({ url: request.url, headers: Object.keys(request.headers) });
  PAGES[request.url ?? ""]?.(response, request);
});
let upstream: ModelServer;
beforeAll(async () => {
  port = await listen(images);
  upstream = await modelServer((response) => json(response, 200, COMPLETION));
});
afterAll(async () => {
  await closeServer(images);
  await upstream[Symbol.asyncDispose]();
});
beforeEach(() => {
  asked = [];
  upstream.received.length = 0;
  waiting = Promise.withResolvers();
});

const urlOf = (path: string) => `http://127.0.0.1:${port}${path}`;
const part = (url: string, more: object = {}) => ({ type: "image_url", image_url: { url, ...more } });
const inlined = part(`data:image/png;base64,${PIXEL.toString("base64")}`);
const TEXT = { type: "text", text: "What?" };
const HERE = { network: "public", allowHosts: new Set(["127.0.0.1"]) } as const;

async function open(more: Partial<UpstreamSettings>[] = [{}], imageGuard?: typeof HERE) {
  const upstreams = more.map((one) => settingsFor(upstream.baseUrl, { stream: false, ...one }));
  return UpstreamModels.open(upstreams, { ...SHOP, ...(imageGuard && { imageGuard }) });
}

function buy(
  models: Pick<UpstreamModels, "complete">,
  content: object[],
  signal = new AbortController().signal,
): Promise<ChatCompletion> {
  const messages = [
    { role: "system", content: "Look." },
    { role: "user", content },
  ];
  const request = { model: "m1", messages, maxTokens: 5, temperature: undefined };
  return models.complete(request, { signal, accountId: "acct_1", idempotencyKey: "claim_1" });
}

const sent = () => JSON.parse(upstream.received.at(-1)?.body ?? "").messages[1].content;
const refusal = (reason: string, at = "1") => ({
  code: "INVALID_REQUEST",
  worked: true,
  message: expect.stringMatching(
    new RegExp(`^params\\.messages\\[1\\]\\.content\\[${at}\\]\\.image_url\\.url: .*${reason}.*data:image/`),
  ),
});
const REFUSED: [string, string][] = [
  ["/page", "content type is no image"],
  ["/gone", "HTTP 404"],
  ["/circle", "more than 3 redirects"],
  ["/inside", "not a public address"],
  ["/file", "redirect to a URL that is not allowed"],
  ["/named", "redirect to a URL that is not allowed"],
];

describe("images by URL", () => {
  it("reach the model server as data URLs, redirects followed and other members kept", async () => {
    await buy(await open([{}], HERE), [
      TEXT,
      part(urlOf("/a.png"), { detail: "low" }),
      part(urlOf("/moved")),
      inlined,
    ]);
    const low = { ...inlined.image_url, detail: "low" };
    expect(sent()).toEqual([TEXT, { ...inlined, image_url: low }, inlined, inlined]);
    expect(asked.filter(({ url }) => url === "/a.png")).toHaveLength(2);
    expect(asked[0]?.headers, "no key, no caller").not.toContain("authorization");
  });

  it.each(REFUSED)("at %s are refused by their field, without a call of the server", async (path, reason) => {
    const models = await open([{}], HERE);
    await expect(buy(models, [TEXT, part(urlOf(path))])).rejects.toMatchObject(refusal(reason));
    expect(upstream.received).toEqual([]);
  });

  it.each(["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "2130706433"])(
    "of the host %s are refused and never asked for",
    async (host) => {
      const models = await open();
      const url = `http://${host}:${port}/a.png`;
      await expect(buy(models, [TEXT, part(url)])).rejects.toMatchObject(refusal("not a public address"));
      expect([asked, upstream.received]).toEqual([[], []]);
    },
  );

  it("reach a server of another API as bytes, in the request as it came", async () => {
    const models = await open([{ api: "messages" }], HERE);
    const source = { type: "url", url: urlOf("/a.png") };
    const messages = [{ role: "user", content: [{ type: "image", source }] }];
    const passed = { api: "messages" as const, body: { max_tokens: 5, messages } };
    const chat = [{ role: "user", content: [part(source.url)] }];
    const request = { model: "m1", messages: chat, maxTokens: 5, temperature: undefined, passed };
    const options = { signal: new AbortController().signal, accountId: "acct_1", idempotencyKey: "claim_1" };
    await models.complete(request, options).catch(() => {});
    const bytes = { type: "base64", media_type: "image/png", data: PIXEL.toString("base64") };
    expect(JSON.parse(upstream.received.at(-1)?.body ?? "").messages).toEqual([
      { role: "user", content: [{ type: "image", source: bytes }] },
    ]);
  });

  it("have one limit of bytes for the whole call", async () => {
    const models = await open([{}], HERE);
    await buy(models, [TEXT, part(urlOf("/large"))]);
    expect(sent()[1].image_url.url.length).toBeGreaterThan(5 * MIB);
    const two = [part(urlOf("/large")), part(urlOf("/large"))];
    await expect(buy(models, two)).rejects.toMatchObject(refusal("8388608 bytes in all", "[01]"));
  });

  it("are given up with the call", async () => {
    const ends = new AbortController();
    const bought = buy(await open([{}], HERE), [part(urlOf("/waits"))], ends.signal);
    const closed = Promise.withResolvers<void>();
    const arrived = waiting.promise.then((request) => void request.socket.once("close", closed.resolve));
    await Promise.race([arrived, bought]);
    ends.abort();
    await expect(bought).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await closed.promise;
    expect(upstream.received).toEqual([]);
  });

  it("are given up when the reader of a stream left", async () => {
    const closed = AbortSignal.abort();
    const inliner = new ImageInliner(HERE);
    const messages = [{ role: "user", content: [part(urlOf("/waits"))] }];
    const request = { model: "m1", messages, maxTokens: 5, temperature: undefined };
    const { signal } = new AbortController();
    await expect(inliner.inline(request, { signal, closed })).rejects.toMatchObject({ code: "CANCELLED" });
    await inliner.close();
  });

  it("pass only where all servers of the model fetch themselves", async () => {
    const passing = { models: [{ id: "m1", upstreamModel: "m1", ...TERMS, passesUrls: true }] };
    const content = [part("http://169.254.169.254/a.png")];
    await buy(await open([passing, passing]), content);
    expect(sent()).toEqual(content);
    await expect(buy(await open([passing, {}]), content)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
  });
});
