// src/main.ts is a link to this file: a Node that is too old cannot load .ts, and could not run a line of ours that says so.
import process from "node:process";

const [major = 0] = process.versions.node.split(".").map(Number);
if (major < 24) {
  process.stderr.write(
    `Toolgate needs Node 24, and this is ${process.version}: run it as node_modules/.bin/node src/main.ts, or npm run toolgate --\n`,
  );
  process.exit(1);
}

// Compiling what a command imports takes most of its start. The cache is beside the packages: where only we can write, nobody plants code.
const { enableCompileCache } = await import("node:module");
enableCompileCache(new URL("../node_modules/.cache/compile", import.meta.url).pathname);

const { runCommandLine } = await import("./cli/command-line.ts");
await runCommandLine(process.argv.slice(2));
// A command that is done is done, whatever sockets its libraries would still keep open.
process.exit();
