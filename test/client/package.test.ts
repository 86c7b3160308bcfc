import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import vm from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startWorld, type World } from "../support/world.ts";
import { command, ROOT } from "../tooling/command.ts";

/** The published package, built and packed, used by programs without TypeScript. */

/** Dependencies of the client package. */
const PACKAGES = ["@bufbuild", "@connectrpc", "@solana"];
const PRICE = 1000n;

let world: World;
let app: string;
let packed: string[];
beforeAll(async () => {
  [world, app] = await Promise.all([startWorld(), mkdtemp(path.join(os.tmpdir(), "toolgate-package-"))]);
  await rm(path.join(ROOT, "dist", "client"), { recursive: true, force: true });
  expect(await command("npm", ["run", "-s", "build:client"])).toEqual({ code: 0, output: "" });
  packed = await packInto(path.join(app, "node_modules", "toolgate"));
  for (const scope of PACKAGES)
    await symlink(path.join(ROOT, "node_modules", scope), path.join(app, "node_modules", scope));
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
  await rm(app, { recursive: true, force: true });
});

/** Copies what `npm pack` would pack; names it. */
async function packInto(folder: string): Promise<string[]> {
  const { output } = await command("npm", [
    "pack",
    "--ignore-scripts",
    "--dry-run",
    "--json",
    "--loglevel=silent",
  ]);
  const [archive]: { files: { path: string }[] }[] = JSON.parse(output);
  const files = archive?.files.map((file) => file.path) ?? [];
  for (const file of files) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await copyFile(path.join(ROOT, file), path.join(folder, file));
  }
  return files;
}

/** A buyer's program whose wallet has the price in USDC, and no SOL. Prints the receipt. */
async function program(store: string): Promise<string> {
  const agent = await world.agent();
  const wallet = world.chain.controls.createWallet({ microUsd: PRICE, lamports: 0n });
  return `
    import { keypairSigner, payingFetch, ToolgateClient } from "toolgate/client";
    import { memoryStore, webStorageStore } from "toolgate/client";
    const payment = {
      signer: keypairSigner(Uint8Array.from(${JSON.stringify([...wallet.secretKey])})),
      maxPrice: "0.01", budget: "1", store: ${store},
    };
    const client = new ToolgateClient({ baseUrl: "${world.gateway.baseUrl}", apiKey: "${agent.apiKey}",
      payment });
    const { receipt } = await client.callTool("vram_estimate", { parameters_b: 7 });
    console.log(receipt.paidBy, receipt.debitedUsdcMicrousd);
  `;
}

/**
 * The Node that this machine has besides the project's own: whatever version it is, the client must run on
 * it.
 */
async function otherNode(): Promise<string> {
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    const node = path.join(folder, "node");
    if (folder === "" || folder.startsWith(path.join(ROOT, "node_modules"))) continue;
    if ((await command(node, ["--version"])).code === 0) return node;
  }
  return process.execPath;
}

describe("the published package", () => {
  it("contains compiled files and no source of the gateway", () => {
    const allowed =
      /^(dist\/client\/.*\.(js|d\.ts)|docs\/reference\/client\.md|package\.json|README\.md|LICENSE)$/;
    expect(packed.filter((file) => !allowed.test(file))).toEqual([]);
    const parts = new Set(packed.map((file) => /^dist\/client\/src\/(\w+)\//.exec(file)?.[1]));
    expect([...parts].filter((part) => part !== undefined)).toEqual(["client"]);
  });

  it("buys a call from plain JavaScript, with its payments in files", async () => {
    const file = path.join(app, "buy.mjs");
    const store = `(await import("toolgate/client/node")).fileStore(${JSON.stringify(path.join(app, "payments"))})`;
    await writeFile(file, await program(store));
    const node = await otherNode();
    const { code, output } = await command(node, ["--no-warnings", file], { cwd: app });
    expect({ code, output }).toEqual({ code: 0, output: `3 ${PRICE}n\n` });
  });

  it("buys a call from a browser bundle without Node modules", async () => {
    const [source, bundle] = [path.join(app, "page.js"), path.join(app, "bundle.js")];
    // A classic script, as the page of this test has no modules.
    const text = (await program("memoryStore()")).replace(
      /const payment = /,
      "export const bought = (async () => {\n$&",
    );
    await writeFile(source, `${text}\n})();`);
    const options = ["--platform", "browser", "--format", "iife", "--name", "page", "--file", bundle];
    const built = await command("rolldown", [source, ...options], { cwd: app });
    expect(built.code).toBe(0);
    expect(built.output).not.toMatch(/unresolved|could not resolve|external/i);
    const lines: unknown[][] = [];
    const page = browser((...line) => void lines.push(line));
    await vm.runInContext(`${await readFile(bundle, "utf8")}\npage.bought`, page);
    expect(lines).toEqual([[3, PRICE]]);
  });
});

/**
 * The globals that browsers have, as far as the client uses them; Buffer, process and require are not there.
 */
function browser(log: (...line: unknown[]) => void): vm.Context {
  const names = [
    ...[
      "AbortController",
      "AbortSignal",
      "Blob",
      "DOMException",
      "Headers",
      "ReadableStream",
      "Request",
      "Response",
    ],
    ...["TextDecoder", "TextEncoder", "URL", "URLSearchParams", "Uint8Array", "ArrayBuffer"],
    ...["atob", "btoa", "clearTimeout", "crypto", "fetch", "queueMicrotask", "setTimeout"],
  ];
  const globals = Object.fromEntries(
    names.map((name): [string, unknown] => [name, Reflect.get(globalThis, name)]),
  );
  const context = vm.createContext({ ...globals, console: { log, warn: log, error: log } });
  vm.runInContext("globalThis.self = globalThis.window = globalThis;", context);
  return context;
}
