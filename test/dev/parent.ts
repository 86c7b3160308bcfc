// Starts the database in the folder given, says where, and lives until it is killed: like a gateway
// that finishes its calls first, it does not end at the terminal's Ctrl-C.
import process from "node:process";
import { startEmbeddedPostgres } from "../../src/dev/embedded-postgres/index.ts";

process.on("SIGINT", () => {});
const { url } = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "" });
process.stdout.write(`${url}\n`);
setInterval(() => {}, 60_000);
