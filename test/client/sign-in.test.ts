import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keypairSigner, payingFetch, ToolgateClient } from "../../src/client/index.ts";
import { signIn, storedSignIn } from "../../src/client/node/sign-in/index.ts";
import { firstLine } from "../support/child.ts";
import { query } from "../support/database-server.ts";
import { secret } from "../support/record.ts";
import { closeServer, listen } from "../support/servers.ts";
import { useWorld } from "../support/use-world.ts";
import { Browser } from "../transport/oauth/browser.ts";

/** The client's sign-in at a gateway, with a person at a browser. */

const world = useWorld();
let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), "toolgate-sign-in-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A person who approves, and what the browser then calls back. */
function approves(browser = new Browser(), change: (callback: URL) => unknown = () => {}) {
  return async (address: string): Promise<void> => {
    const callback = await browser.approve(world.gateway, address);
    await change(callback);
    await fetch(callback);
  };
}

async function refuses(address: string): Promise<void> {
  const browser = new Browser();
  const id = await browser.open(address);
  await fetch(await browser.back(await browser.decide(world.gateway, id, { approve: false })));
}

async function signedIn(open = approves()) {
  const folder = path.join(root, crypto.randomUUID());
  const session = await signIn({ baseUrl: world.gateway.baseUrl, folder, open });
  secret("a token", await session.token());
  const [name = ""] = await readdir(folder);
  return { folder, session, file: path.join(folder, name) };
}

/** Makes the access token expire. */
async function expire(file: string): Promise<void> {
  const stored: object = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...stored, expiresAt: 0 }));
}

/** Refresh tokens that were issued for a sign-in. */
async function issued(file: string): Promise<unknown> {
  const { clientId }: { clientId: string } = JSON.parse(await readFile(file, "utf8"));
  const text = `select count(*)::int as tokens from oauth_record
                where model = 'RefreshToken' and payload ->> 'clientId' = '${clientId}'`;
  return (await query(world.database.url, text)).rows[0]?.["tokens"];
}

const read = (token: string) =>
  fetch(`${world.gateway.baseUrl}/receipts`, { headers: { authorization: `Bearer ${token}` } });

describe("a sign-in", () => {
  it("is what the clients take in place of an API key, also in the next process", async () => {
    const { baseUrl } = world.gateway;
    const payer = await world.agent({ balance: 10_000n });
    const { folder, session } = await signedIn(approves(new Browser(payer.wallet)));
    const client = new ToolgateClient({ baseUrl, apiKey: session.token });
    const { receipt } = await client.callTool("vram_estimate", { parameters_b: 7 });
    expect(receipt?.debitedUsdcMicrousd).toBe(1000n);
    const stored = await storedSignIn({ baseUrl, folder });
    const signer = keypairSigner(payer.wallet);
    const pay = payingFetch({ signer, maxPrice: "0.01", budget: "1", fetch: stored?.fetch ?? fetch });
    const body = JSON.stringify({ tool: "vram_estimate", params: { parameters_b: 7 } });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    expect((await pay(`${baseUrl}/v1/mcp/tools/call`, init)).status).toBe(200);
  });

  it("sends its token to no other server", async () => {
    const { session } = await signedIn();
    const server = createServer(
      ({ headers }, response) => void response.end(headers.authorization ?? "none"),
    );
    const other = `http://127.0.0.1:${await listen(server)}`;
    expect(await (await session.fetch(other)).text()).toBe("none");
    await closeServer(server);
  });

  it("is stored where only its owner can read it", async () => {
    const { folder, file } = await signedIn();
    expect(await readdir(folder)).toEqual([path.basename(file)]);
    expect([(await stat(file)).mode & 0o777, (await stat(folder)).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  it("is refreshed once by all calls and processes that need it at the same time", async () => {
    const { baseUrl } = world.gateway;
    const { folder, file } = await signedIn();
    await expire(file);
    const [first, second] = await Promise.all([1, 2].map(() => storedSignIn({ baseUrl, folder })));
    const program = path.join(import.meta.dirname, "sign-in-token.ts");
    const others = [1, 2].map(() =>
      spawn(process.execPath, [program, baseUrl, folder], { stdio: ["ignore", "pipe", "inherit"] }),
    );
    const here = [first, first, second].map((session) => session?.token());
    const tokens = await Promise.all([...here, ...others.map((child) => firstLine(child))]);
    expect(new Set(tokens).size).toBe(1);
    expect((await read(tokens[0] ?? "")).status).toBe(200);
    expect(await issued(file)).toBe(2);
  });

  it("is refreshed although a process died meanwhile", async () => {
    const { baseUrl } = world.gateway;
    const { folder, file } = await signedIn();
    await expire(file);
    await writeFile(`${file}.lock`, "");
    await utimes(`${file}.lock`, 0, 0);
    const token = await (await storedSignIn({ baseUrl, folder }))?.token();
    expect((await read(token ?? "")).status).toBe(200);
    expect(await readdir(folder)).toEqual([path.basename(file)]);
  });

  it("ends everywhere when the person signs out", async () => {
    const { baseUrl } = world.gateway;
    const { folder, session, file } = await signedIn();
    const token = await session.token();
    const stored = await readFile(file, "utf8");
    await session.signOut();
    expect(await storedSignIn({ baseUrl, folder })).toBeUndefined();
    await expect(session.token()).rejects.toMatchObject({ code: "SIGNED_OUT" });
    await expect.poll(async () => (await read(token)).status).toBe(401);
    // A copy of the file is worth nothing.
    await writeFile(file, stored);
    await expire(file);
    await expect((await storedSignIn({ baseUrl, folder }))?.token()).rejects.toMatchObject({
      code: "SIGNED_OUT",
    });
  });

  it("ignores answers that it did not ask for", async () => {
    const { session } = await signedIn(
      approves(new Browser(), async (callback) => {
        for (const state of ["other", ""]) {
          const forged = new URL(callback);
          forged.searchParams.set("state", state);
          expect((await fetch(forged)).status).toBe(404);
        }
        expect((await fetch(new URL("/other", callback))).status).toBe(404);
      }),
    );
    expect((await read(await session.token())).status).toBe(200);
  });
});

describe("a failed sign-in", () => {
  it.each<[string, (address: string) => unknown, number | undefined, string]>([
    ["the person refuses", refuses, undefined, "ACCESS_DENIED"],
    ["the person does not decide", () => {}, 1, "TIMED_OUT"],
    [
      "the answer is of another server",
      approves(new Browser(), ({ searchParams }) => searchParams.set("iss", "https://evil.example")),
      undefined,
      "SIGN_IN_FAILED",
    ],
    [
      "the code is not valid",
      approves(new Browser(), ({ searchParams }) => searchParams.set("code", "other")),
      undefined,
      "SIGNED_OUT",
    ],
  ])("because %s stores nothing and has a code", async (_, open, timeoutMs, code) => {
    const folder = path.join(root, crypto.randomUUID());
    const { baseUrl } = world.gateway;
    const options = { baseUrl, folder, open, ...(timeoutMs !== undefined && { timeoutMs }) };
    await expect(signIn(options)).rejects.toMatchObject({ name: "SignInError", code });
    await expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("names what is wrong with an address", async () => {
    const without = await world.startAnother({ OAUTH: "off" });
    const closed = createServer();
    const unused = `http://127.0.0.1:${await listen(closed)}`;
    await closeServer(closed);
    const renamed = world.gateway.baseUrl.replace("127.0.0.1", "localhost");
    for (const [baseUrl, error] of [
      [without.baseUrl, { code: "NO_OAUTH" }],
      [renamed, { code: "NO_OAUTH", message: expect.stringContaining(world.gateway.baseUrl) }],
      [unused, { code: "SIGN_IN_FAILED", message: expect.stringContaining("cannot be reached") }],
      ["http://gateway.example", { name: "TypeError" }],
    ] as const)
      await expect(signIn({ baseUrl, folder: root, open: () => {} })).rejects.toMatchObject(error);
  });

  it("leaves nothing that keeps the process running", async () => {
    const program = path.join(import.meta.dirname, "sign-in-token.ts");
    const child = spawn(process.execPath, [program, world.gateway.baseUrl, root, "1"], { stdio: "ignore" });
    expect(await once(child, "exit")).toEqual([3, null]);
  });
});
