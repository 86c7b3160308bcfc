import { enableCompileCache } from "node:module";
import process from "node:process";

// Compiling what a command imports takes most of its start. The cache is beside the packages: where only we can write, nobody plants code.
enableCompileCache(new URL("../node_modules/.cache/compile", import.meta.url).pathname);

const { runCommandLine } = await import("./cli/command-line.ts");
await runCommandLine(process.argv.slice(2));
// A command that is done is done, whatever sockets its libraries would still keep open.
process.exit();
