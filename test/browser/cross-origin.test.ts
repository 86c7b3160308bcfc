import { createServer } from "node:http";
import path from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { closeServer, listen } from "../support/servers.ts";
import { useModelServer, useWorld } from "../support/use-world.ts";
import { openBrowser, type TestBrowser, type UserBrowser } from "./browser.ts";
import type { OfficialClients } from "./official-clients.ts";

/** The official clients in a page of another origin: preflights, requests and what the page can read. */

let program = "";
const server = createServer((request, response) => {
  const script = request.url === "/page.js";
  response.setHeader("content-type", script ? "text/javascript" : "text/html");
  response.end(
    script
      ? program
      : '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
  );
});
let origin = "";
const models = useModelServer();
const world = useWorld(async () => {
  origin = `http://localhost:${await listen(server)}`;
  return { CORS_ORIGINS: origin, INFERENCE_BASE_URL: models.url };
});
let browser: TestBrowser;

beforeAll(async () => {
  [program, browser] = await Promise.all([bundled("official-clients.ts"), openBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await closeServer(server);
});

async function bundled(entry: string): Promise<string> {
  const made = await build({
    configFile: false,
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      write: false,
      minify: false,
      lib: { entry: path.join(import.meta.dirname, entry), formats: ["es"] },
    },
  });
  const [chunk] = Array.isArray(made) ? (made[0]?.output ?? []) : "output" in made ? made.output : [];
  if (chunk?.type !== "chunk") throw new Error("nothing was bundled");
  return chunk.code;
}

async function open(): Promise<UserBrowser["page"]> {
  // The MCP client asks for a stream by GET, which is 405 here.
  const expected = [/^request to elsewhere/, /status of 402/, /status of 405/];
  const { page } = await browser.openFor(origin, { expected });
  await page.goto("/");
  await page.waitForFunction("'clients' in globalThis");
  return page;
}

declare const clients: OfficialClients;

it("lets the official OpenAI client chat, whole and streamed, and read its limits", async () => {
  const { apiKey, accountId } = await world.agent({ balance: 1_000_000n });
  const page = await open();
  const answer = await page.evaluate(
    ([url = "", key = ""]) => clients.chat(url, key),
    [world.gateway.baseUrl, apiKey],
  );
  expect(answer).toEqual({
    text: expect.stringMatching(/./),
    streamed: answer.text,
    remaining: expect.stringMatching(/^\d+$/),
  });
  expect(await world.postgres.ledger.balance(accountId)).toBeLessThan(1_000_000n);
});

it("lets the official x402 client buy a call, and read the settlement", async () => {
  const wallet = world.chain.controls.createWallet({ lamports: 0n, microUsd: 1_000_000n });
  const page = await open();
  const bought = await page.evaluate(({ url, secret, rpc }) => clients.buy(url, secret, rpc), {
    url: world.gateway.baseUrl,
    secret: [...wallet.secretKey],
    rpc: world.chain.url,
  });
  expect(bought).toMatchObject({
    status: 200,
    body: { ok: true, receipt: { paid_by: "gasless" } },
    paid: { success: true },
  });
});

it("lets the official MCP client buy a call from the balance", async () => {
  const { apiKey } = await world.agent({ balance: 1_000_000n });
  const page = await open();
  const result = await page.evaluate(
    ([url = "", key = ""]) => clients.callMcp(url, key),
    [world.gateway.baseUrl, apiKey],
  );
  expect(result).toHaveProperty("total");
});

it("lets the official MCP client call from a page of this machine that is not listed", async () => {
  const { baseUrl } = await world.startAnother({ CORS_ORIGINS: "https://app.example" });
  const { apiKey } = await world.agent({ balance: 1_000_000n });
  const page = await open();
  const result = await page.evaluate(([url = "", key = ""]) => clients.callMcp(url, key), [baseUrl, apiKey]);
  expect(result).toHaveProperty("total");
});
