import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { VERSION } from "../../version.ts";
import { DIST, ROOT, run } from "./tools.ts";

const SOURCE = path.join(ROOT, "src/client");
const BUILT = path.join(DIST, "client");

/** Options of tsc by module format. CommonJS is for programs that cannot import. */
const FORMATS = {
  esm: [],
  cjs: ["--module", "commonjs", "--moduleResolution", "bundler", "--verbatimModuleSyntax", "false"],
} as const;

/**
 * Generated files that only the gateway needs, by their replacements. Its validation rules would be a quarter
 * of the client's size.
 */
const REPLACED = {
  "no-validation": "buf/validate/validate_pb",
  "no-http-options": "httpjson/v1/options_pb",
} as const;

/** Builds the package `toolgate-client` from src/client into dist/client; returns the folder. */
export async function buildClientPackage(): Promise<string> {
  await rm(BUILT, { recursive: true, force: true });
  await Promise.all(Object.entries(FORMATS).map(([format, options]) => compile(format, options)));
  await writeJson("cjs/package.json", { type: "commonjs" });
  await writeJson("package.json", await manifest());
  await copyFile(path.join(SOURCE, "README.md"), path.join(BUILT, "README.md"));
  await copyFile(path.join(ROOT, "LICENSE"), path.join(BUILT, "LICENSE"));
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
  const entry = (file: string) => ({
    import: filesOf("esm", file),
    require: filesOf("cjs", file),
  });
  return {
    ...source,
    version: VERSION,
    keywords: ["solana", "usdc", "x402", "mcp", "payments", "agents"],
    exports: { ".": entry("index"), "./node": entry("node/index"), "./package.json": "./package.json" },
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
