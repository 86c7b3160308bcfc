// node collect.mjs FROM TO: copies from the project FROM to TO only the files and packages that the sandbox's
// program needs.
import { cp, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";

/** Packages that the program imports or starts; their dependencies are added. */
const ROOTS = ["deno", "pino", "pyodide", "zod"];

/** The sources that it is made of. */
const SOURCES = ["package.json", "gen/errors.ts", "src/log.ts", "src/domain", "src/sandbox"];

const [from = "", to = ""] = process.argv.slice(2);
if (from === "" || to === "") throw new Error("usage: node collect.mjs FROM TO");

const wanted = [...ROOTS];
const taken = new Set();
await mkdir(path.join(to, "src"), { recursive: true });
for (const source of SOURCES) await cp(path.join(from, source), path.join(to, source), { recursive: true });
for (let name = wanted.shift(); name !== undefined; name = wanted.shift()) {
  if (taken.has(name)) continue;
  taken.add(name);
  const folder = path.join(from, "node_modules", name);
  const text = await readFile(path.join(folder, "package.json"), "utf8").catch(() => undefined);
  // Packages for other platforms are not installed.
  if (text === undefined) continue;
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(text);
  wanted.push(...Object.keys(dependencies), ...Object.keys(optionalDependencies));
  await cp(folder, path.join(to, "node_modules", name), { recursive: true });
}
