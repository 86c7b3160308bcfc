import { createHash } from "node:crypto";
import { readFile, rm, writeFile, copyFile, mkdir, rename } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { VERSION } from "../../version.ts";
import { buildGatewayPackage } from "./gateway-package.ts";
import { publishedAt } from "./published.ts";
import { DIST, pack, run, ROOT } from "./tools.ts";
import { z } from "zod";

const SOURCE = path.join(ROOT, "src/client");
const BUILT = path.join(DIST, "client");

/** Options of tsc by module format. CommonJS is for programs that cannot import. */
const FORMATS = {
  esm: [],
  cjs: ["--module", "commonjs", "--moduleResolution", "bundler", "--verbatimModuleSyntax", "false"],
} as const;

/** Generated files of the gateway only, by their replacements: a quarter of the client's size. */
const REPLACED = {
  "no-validation": "buf/validate/validate_pb",
  "no-http-options": "httpjson/v1/options_pb",
} as const;

/** Builds the package `toolgate-client` from src/client into dist/client; returns the folder. */
async function buildClientPackage(): Promise<string> {
  await rm(BUILT, { recursive: true, force: true });
  await Promise.all(Object.entries(FORMATS).map(([format, options]) => compile(format, options)));
  await writeJson("cjs/package.json", { type: "commonjs" });
  await writeJson("package.json", await manifest());
  for (const file of ["README.md", "CHANGELOG.md"])
    await copyFile(path.join(SOURCE, file), path.join(BUILT, file));
  for (const file of ["LICENSE", "NOTICE"]) await copyFile(path.join(ROOT, file), path.join(BUILT, file));
  return BUILT;
}

async function compile(format: string, options: readonly string[]): Promise<void> {
  const folder = path.join(BUILT, format);
  await run("tsc", "-p", SOURCE, "--outDir", folder, ...options);
  for (const [name, replaced] of Object.entries(REPLACED))
    for (const type of [".js", ".d.ts"])
      await rename(
        path.join(folder, `src/dev/console-build/${name}${type}`),
        path.join(folder, `gen/${replaced}${type}`),
      );
  await rm(path.join(folder, "src/dev"), { recursive: true });
}

/** The manifest of src/client with the project's version and the built files. */
async function manifest(): Promise<object> {
  const source = z
    .looseObject({})
    .parse(JSON.parse(await readFile(path.join(SOURCE, "package.json"), "utf8")));
  const root: unknown = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const entry = (file: string) => ({
    import: filesOf("esm", file),
    require: filesOf("cjs", file),
  });
  return {
    ...source,
    version: VERSION,
    ...publishedAt(root, "src/client"),
    keywords: ["solana", "usdc", "x402", "mcp", "payments", "agents"],
    exports: {
      ".": entry("index"),
      "./node": entry("node/index"),
      "./sign-in": entry("node/sign-in/index"),
      "./package.json": "./package.json",
    },
  };
}

function filesOf(format: string, file: string): object {
  const base = `./${format}/src/client/${file}`;
  return { types: `${base}.d.ts`, default: `${base}.js` };
}

async function writeJson(file: string, value: object): Promise<void> {
  await mkdir(path.dirname(path.join(BUILT, file)), { recursive: true });
  await writeFile(path.join(BUILT, file), `${JSON.stringify(value, undefined, 2)}\n`);
}

/** Writes the list of production packages (CycloneDX), from the lock file. */
async function writeSbom(file: string): Promise<void> {
  await writeFile(
    file,
    await run("npm", "sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--omit=dev"),
  );
}

// Builds into dist/ and prints the tarballs: main.ts client|gateway …
// Without arguments it builds the whole release and prints digests.

const log = (line: string) => void process.stderr.write(`${line}\n`);
const BUILDERS = new Map([
  ["client", buildClientPackage],
  ["gateway", () => buildGatewayPackage(log)],
]);

const names = process.argv.slice(2);
if (names.length === 0) await release();
else for (const name of names) process.stdout.write(`${await built(name)}\n`);

async function built(name: string): Promise<string> {
  const build = BUILDERS.get(name);
  if (!build) throw new Error(`${name}: is neither ${[...BUILDERS.keys()].join(" nor ")}`);
  return pack(await build());
}

/** Builds both packages, the deploy files and the SBOM; prints the size and SHA-256 of each. */
async function release(): Promise<void> {
  const changes = await readFile(path.join(DIST, "../CHANGELOG.md"), "utf8");
  if (!changes.includes(`## [${VERSION}]`)) throw new Error(`CHANGELOG.md: has no section [${VERSION}]`);
  const deploy = path.join(DIST, `toolgate-deploy-${VERSION}.tar.gz`);
  const sbom = path.join(DIST, `toolgate-${VERSION}.cdx.json`);
  await rm(DIST, { recursive: true, force: true });
  const packages = [await built("client"), await built("gateway")];
  await run("tar", "-czf", deploy, "-C", path.join(DIST, "gateway"), "deploy", "LICENSE", "NOTICE");
  await writeSbom(sbom);
  for (const file of [...packages, deploy, sbom]) {
    const bytes = await readFile(file);
    const digest = createHash("sha256").update(bytes).digest("hex");
    process.stdout.write(`${digest}  ${path.basename(file)}  ${(bytes.length / 1000).toFixed(0)} kB\n`);
  }
}
