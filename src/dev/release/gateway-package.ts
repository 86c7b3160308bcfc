import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { z } from "zod";
import { VERSION } from "../../version.ts";
import { buildConsoleIfOlder } from "../console-build/index.ts";
import { publishedAt, withImage, withLinks } from "./published.ts";
import { DIST, ROOT, run } from "./tools.ts";

const BUILT = path.join(DIST, "gateway");
const SOURCE = import.meta.dirname;

/** Files that the programs read, beside the compiled ones. */
const FOLDERS = ["src", "gen"];
/** Of the sources: programs for other places, and what belongs to the checkout. */
const LEFT_OUT =
  /^src\/(?:client|console|bootstrap\.mjs|main\.ts|dev\/(?:release|console-build|watch))(?:\/|$)/;
const ENTRY = "src/main.mjs";
/** For operators: an image, compose, systemd, Kubernetes, monitoring; not what a machine keeps beside it. */
const DEPLOY = /^deploy(?:\/(?!secrets(?:\/|$)|\.env$)|$)/;
/** Files of it that name this version, and how. */
const ALERTS = "deploy/prometheus/toolgate.rules.yml";
const KUBERNETES = "deploy/kubernetes/gateway/base/kustomization.yaml";

/** Needed by `toolgate dev`. As optional packages npm skips them on Node 20, for which theirs are too new. */
const ON_EVERY_NODE = new Set(["@solana/kit", "litesvm", "openai"]);

const manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  dependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
  overrides: z.record(z.string(), z.unknown()),
});

/** Builds the package `toolgate` into dist/gateway; returns the folder. */
export async function buildGatewayPackage(log: (line: string) => void): Promise<string> {
  await rm(BUILT, { recursive: true, force: true });
  const [console] = await Promise.all([buildConsoleIfOlder(log), run("tsc", "-p", SOURCE)]);
  if (!console) throw new Error("the console could not be built");
  for (const folder of FOLDERS) await copyOthers(folder);
  await copy("dist/console");
  for (const file of ["LICENSE", "NOTICE", "CHANGELOG.md", "proto"]) await copy(file);
  await copyDeploy();
  await nameCompiledFiles();
  await writeFile(path.join(BUILT, "package.json"), await manifestText());
  return BUILT;
}

/** Copies the deploy files and the README, with addresses of this version. */
async function copyDeploy(): Promise<void> {
  const filter = (from: string) => DEPLOY.test(path.relative(ROOT, from).replaceAll("\\", "/"));
  await cp(path.join(ROOT, "deploy"), path.join(BUILT, "deploy"), { recursive: true, filter });
  const root: unknown = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const linked = (text: string) => withLinks(text, publishedAt(root), VERSION);
  const readme = await readFile(path.join(SOURCE, "gateway-readme.md"), "utf8");
  await writeFile(path.join(BUILT, "README.md"), linked(readme));
  await rewrite(ALERTS, (text) => linked(text.replaceAll(" docs/runbooks/", " <repository>/docs/runbooks/")));
  await rewrite(KUBERNETES, (text) => withImage(text, process.env["IMAGE"]));
}

async function rewrite(file: string, change: (text: string) => string): Promise<void> {
  const place = path.join(BUILT, file);
  await writeFile(place, change(await readFile(place, "utf8")));
}

async function copyOthers(folder: string): Promise<void> {
  const files = await readdir(path.join(ROOT, folder), { recursive: true });
  for (const file of files.map((name) => path.posix.join(folder, name.replaceAll("\\", "/")))) {
    if (/\.tsx?$/.test(file) || LEFT_OUT.test(file)) continue;
    if ((await stat(path.join(ROOT, file))).isFile()) await copy(file);
  }
}

async function copy(file: string): Promise<void> {
  await mkdir(path.dirname(path.join(BUILT, file)), { recursive: true });
  await cp(path.join(ROOT, file), path.join(BUILT, file), { recursive: true });
}

/** The compiler renames files in imports; this renames them in paths of programs that are started. */
async function nameCompiledFiles(): Promise<void> {
  const files = await readdir(path.join(BUILT, "src"), { recursive: true });
  const compiled = new Set(files.filter((file) => file.endsWith(".js")));
  for (const file of [...compiled, path.relative("src", ENTRY)]) {
    const place = path.join(BUILT, "src", file);
    const text = await readFile(place, "utf8");
    const named = text.replaceAll(/"((?:\.{0,2}\/)?[\w./-]+)\.ts"/g, (literal, name: string) =>
      compiled.has(path.join(path.dirname(file), `${name}.js`)) ? `"${name}.js"` : literal,
    );
    if (named !== text) await writeFile(place, named);
  }
}

/** The checkout's manifest without what only the checkout has. */
async function manifestText(): Promise<string> {
  const root: unknown = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const { name, version, description, license, dependencies, optionalDependencies, overrides } =
    manifest.parse(root);
  const optional = Object.entries(optionalDependencies);
  const needed = optional.filter(([one]) => ON_EVERY_NODE.has(one));
  const replaced = Object.entries(overrides).filter(
    ([, by]) => typeof by === "string" && by.startsWith("npm:"),
  );
  const written = {
    name,
    version,
    description,
    license,
    ...publishedAt(root),
    keywords: ["mcp", "x402", "solana", "usdc", "payments", "agents", "gateway"],
    type: "module",
    bin: { toolgate: ENTRY },
    engines: { node: ">=20" },
    // Generated code is imported by the names of its sources.
    imports: {
      "#httpjson/*.ts": "./src/httpjson/*.js",
      "#gen/*.ts": "./gen/*.js",
      "#gen/*.json": "./gen/*.json",
    },
    // npm ignores the overrides of an installed package. As a dependency the replacement is used.
    dependencies: { ...dependencies, ...Object.fromEntries([...needed, ...replaced]) },
    // With the pinned Node, which an older one starts.
    optionalDependencies: Object.fromEntries(optional.filter(([one]) => !ON_EVERY_NODE.has(one))),
  };
  return `${JSON.stringify(written, undefined, 2)}\n`;
}
