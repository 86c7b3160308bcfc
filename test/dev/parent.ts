// Starts the database in the given folder, prints its address and survives the terminal's Ctrl-C, like a
// gateway.
import process from "node:process";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";

process.on("SIGINT", () => {});
const { url } = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "" });
process.stdout.write(`${url}\n`);
setInterval(() => {}, 60_000);
