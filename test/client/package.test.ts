import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "../browser/browser.ts";
import { startWorld, type World } from "../support/world.ts";
import { command, ROOT } from "../tooling/command.ts";

/** The package `toolgate-client` as npm installs it from its tarball, used by programs of its users. */

const PRICE = 1000n;
const MAX_INSTALLED = 15_000_000;
const MAX_PACKAGES = 20;
const MAX_BUNDLE = 62_000;

let world: World;
let app: string;
let installed: string;
beforeAll(async () => {
  [world, app] = await Promise.all([startWorld(), mkdtemp(path.join(os.tmpdir(), "toolgate-package-"))]);
  installed = await install(await built());
  expect(
    JSON.parse(await readFile(path.join(app, "node_modules/toolgate-client/package.json"), "utf8")),
  ).toMatchObject({
    repository: { type: "git", directory: "src/client" },
    homepage: expect.stringMatching(/^https:/),
    bugs: { url: expect.stringMatching(/issues$/) },
  });
  for (const file of ["CHANGELOG.md", "NOTICE", "LICENSE"])
    await stat(path.join(app, "node_modules/toolgate-client", file));
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
  await rm(app, { recursive: true, force: true });
});

/** Builds and packs the client; returns its tarball. */
async function built(): Promise<string> {
  const { code, output } = await command("npm", ["run", "-s", "build:client"]);
  expect(code, output).toBe(0);
  return output.trim();
}

/**
 * Installs a tarball into the app without a registry: npm takes its dependencies from this checkout, if their
 * versions match. Returns what npm prints.
 */
async function install(tarball: string): Promise<string> {
  const { dependencies }: { dependencies: object } = JSON.parse(
    await readFile(path.join(ROOT, "src/client/package.json"), "utf8"),
  );
  const ours = Object.keys(dependencies).map((name) => [name, `file:${ROOT}/node_modules/${name}`]);
  await write("package.json", {
    private: true,
    dependencies: { ...Object.fromEntries(ours), "toolgate-client": `file:${tarball}` },
  });
  const args = ["install", "--offline", "--install-links", "--no-audit", "--no-fund", "--ignore-scripts"];
  const { code, output } = await command("npm", args, { cwd: app });
  expect(code, output).toBe(0);
  return output;
}

function write(file: string, content: object | string): Promise<void> {
  return writeFile(path.join(app, file), typeof content === "string" ? content : JSON.stringify(content));
}

/** Bytes of the files of a folder. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(({ parentPath, name }) => stat(path.join(parentPath, name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

/**
 * A buyer's program in TypeScript whose wallet has the price in USDC, and no SOL. `buy` returns the receipt's
 * fields.
 */
async function program(store: string): Promise<string> {
  const agent = await world.agent();
  const wallet = world.chain.controls.createWallet({ microUsd: PRICE, lamports: 0n });
  return `
    import { keypairSigner, ToolgateClient } from "toolgate-client";
    ${store}
    export async function buy() {
      const payment = {
        signer: keypairSigner(Uint8Array.from(${JSON.stringify([...wallet.secretKey])})),
        maxPrice: "0.01", budget: "1", store,
      };
      const client = new ToolgateClient({ baseUrl: "${world.gateway.baseUrl}", apiKey: "${agent.apiKey}",
        payment });
      const { receipt } = await client.callTool("vram_estimate", { parameters_b: 7 });
      return [receipt?.paidBy, String(receipt?.debitedUsdcMicrousd)];
    }
  `;
}

const FILES = `import { fileStore } from "toolgate-client/node";
    import { storedSignIn } from "toolgate-client/sign-in";
    const store = fileStore("payments");
    void storedSignIn({ baseUrl: "https://tools.example.com", folder: "none" });`;
const BROWSER = `import { webStorageStore } from "toolgate-client";
    const store = webStorageStore(localStorage, navigator.locks);`;
const PRINT = "void buy().then((bought) => { console.log(bought.join()); });";
/** PaidBy.GASLESS and the price. */
const BOUGHT = [3, PRICE.toString()];

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

/** Compiles programs with every check on, libraries included, and no types but the client's own. */
async function compile(name: string, options: object, files: readonly string[]): Promise<void> {
  const compilerOptions = { target: "es2022", strict: true, skipLibCheck: false, types: [], ...options };
  await write(name, { compilerOptions, files });
  expect(await command("tsc", ["-p", path.join(app, name)])).toEqual({ code: 0, output: "" });
}

describe("the client's package", () => {
  it("has compiled files and documents only, and installs small and without warnings", async () => {
    const folder = path.join(app, "node_modules/toolgate-client");
    const files = (await readdir(folder, { recursive: true })).filter((file) => path.extname(file) !== "");
    const allowed =
      /^(?:(?:esm|cjs)\/(?:src\/client|gen)\/.*\.(?:js|d\.ts)|(?:cjs\/)?package\.json|[A-Z]+\.md)$/;
    expect(files.filter((file) => !allowed.test(file))).toEqual([]);
    expect(await readdir(folder)).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(installed).not.toMatch(/EBADENGINE|deprecated/);
    const lock: { packages: object } = JSON.parse(
      await readFile(path.join(app, "node_modules/.package-lock.json"), "utf8"),
    );
    const packages = Object.keys(lock.packages).length;
    const size = await sizeOf(path.join(app, "node_modules"));
    console.log(`toolgate-client: ${packages} packages, ${(size / 1e6).toFixed(1)} MB installed`);
    expect(packages).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(size).toBeLessThanOrEqual(MAX_INSTALLED);
  });

  it("buys a call from strict TypeScript, as an ES module and as CommonJS", async () => {
    const files = ["buy.mts", "buy.cts"];
    for (const file of files) await write(file, (await program(FILES)) + PRINT);
    await compile("tsconfig.json", { module: "nodenext", outDir: "out" }, files);
    const node = await otherNode();
    for (const file of ["out/buy.mjs", "out/buy.cjs"])
      expect(await command(node, [file], { cwd: app }), file).toEqual({
        code: 0,
        output: `${BOUGHT.join()}\n`,
      });
  });

  it("buys a call from a small bundle in a browser", async () => {
    await write("page.ts", await program(BROWSER));
    const bundler = { module: "esnext", moduleResolution: "bundler", outDir: "page" };
    await compile("tsconfig.page.json", bundler, ["page.ts"]);
    const bundle = path.join(app, "bundle.js");
    const options = [
      "--platform",
      "browser",
      "--format",
      "iife",
      "--name",
      "page",
      "--minify",
      "--file",
      bundle,
    ];
    const made = await command("rolldown", [path.join(app, "page/page.js"), ...options], { cwd: app });
    expect(made.code, made.output).toBe(0);
    expect(made.output).not.toMatch(/unresolved|could not resolve|external/i);
    const script = await readFile(bundle, "utf8");
    const size = gzipSync(script).length;
    console.log(`toolgate-client: ${(size / 1e3).toFixed(2)} kB of gzip in a browser`);
    expect(size).toBeLessThanOrEqual(MAX_BUNDLE);
    const browser = await openBrowser();
    const { page, closeBrowser } = await browser.openFor(world.gateway.baseUrl, {
      // PAYMENT_REQUIRED over Connect.
      expected: [/status of 400/],
    });
    await page.goto("/livez");
    expect(await page.evaluate(`${script};page.buy()`)).toEqual(BOUGHT);
    await closeBrowser();
    await browser.close();
  });
});
