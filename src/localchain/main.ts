import { fstatSync } from "node:fs";
import { parseArgs } from "node:util";
import { startLocalChain } from "./index.ts";

/**
 * The local chain in its own process, because the engine is synchronous: `node src/localchain/main.ts
 * [--port N] [--data-dir DIR] [--slot-ms N] [--genesis-hash HASH]`, or LOCALCHAIN_PORT and
 * LOCALCHAIN_DATA_DIR. Prints one line of JSON when it is ready. Ends on SIGTERM, SIGINT, or when its
 * standard input closes, as it does when the parent dies.
 */
const { values } = parseArgs({
  options: {
    port: { type: "string", default: process.env["LOCALCHAIN_PORT"] ?? "8899" },
    "data-dir": { type: "string" },
    "slot-ms": { type: "string", default: "400" },
    "genesis-hash": { type: "string" },
  },
});
const dataDir = values["data-dir"] ?? process.env["LOCALCHAIN_DATA_DIR"];
const genesisHash = values["genesis-hash"];

const local = await startLocalChain({
  port: integer("port", values.port),
  slotMs: integer("slot-ms", values["slot-ms"]),
  ...(dataDir !== undefined && { dataDir }),
  ...(genesisHash !== undefined && { genesisHash }),
});
const stop = (): void => void local.close().then(() => process.exit(0));
process.once("SIGTERM", stop);
process.once("SIGINT", stop);
// The reader of the line died before it was written.
process.stdout.once("error", stop);
const stdin = fstatSync(0);
if (stdin.isFIFO() || stdin.isSocket()) process.stdin.once("close", stop).resume();
process.stdout.write(`${JSON.stringify({ url: local.url, ws_url: local.wsUrl })}\n`);

function integer(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} takes a whole number, not ${text}`);
  return Number(text);
}
