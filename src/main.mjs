#!/usr/bin/env node
// src/main.ts is a link to this file: a Node too old for .ts can still run it, and starts the packaged one.
import process from "node:process";
import { fileURLToPath } from "node:url";
import { isRecent, packagedNode, refuseNode, runOn } from "./packaged-node.mjs";

if (isRecent) await main();
else runOn(packagedNode() ?? refuseNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);

async function main() {
  // Compiling takes most of the start, so it is cached. The cache is where only this user can write: others
  // could plant code.
  const { enableCompileCache } = await import("node:module");
  enableCompileCache(new URL("../node_modules/.cache/compile", import.meta.url).pathname);

  const { runCommandLine } = await import("./cli/command-line.ts");
  await runCommandLine(process.argv.slice(2));
  // Exits although libraries may keep sockets open.
  process.exit();
}
