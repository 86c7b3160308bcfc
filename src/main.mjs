#!/usr/bin/env node
// src/main.ts is a link to this file: a Node too old for .ts can still run it and report its version.
import process from "node:process";

const [major = 0] = process.versions.node.split(".").map(Number);
if (major < 24) {
  process.stderr.write(
    `Toolgate needs Node 24, and this is ${process.version}: ` +
      "install Node 24. In a checkout `npm run toolgate -- COMMAND` uses the packaged one\n",
  );
  process.exit(1);
}

// Compiling takes most of the start, so it is cached. The cache is where only this user can write: others
// could plant code.
const { enableCompileCache } = await import("node:module");
enableCompileCache(new URL("../node_modules/.cache/compile", import.meta.url).pathname);

const { runCommandLine } = await import("./cli/command-line.ts");
await runCommandLine(process.argv.slice(2));
// Exits although libraries may keep sockets open.
process.exit();
