/**
 * A stand-in for a third-party API, for development and tests: sunrise and sunset times, described by
 * openapi.yaml and protected by a key. `dev` registers it as a custom tool.
 *
 * Usage: node main.ts
 * Prints one line {"url":"http://127.0.0.1:<port>","key":"…"} when it is ready. Ends on SIGTERM or when its
 * standard input closes.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { respond } from "./respond.ts";

const key = randomBytes(16).toString("hex");
const server = createServer((request, response) => respond(request, response, key));

function stop(): void {
  server.close(() => process.exit(0));
  server.closeAllConnections();
}

server.on("error", (error) => {
  process.stderr.write(`the API stand-in cannot listen: ${error.message}\n`);
  process.exit(1);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address !== "object" || address === null) return stop();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${address.port}`, key })}\n`);
});
process.once("SIGTERM", stop);
// The reader of the line died before it was written.
process.stdout.once("error", stop);
process.stdin.once("end", stop).once("error", stop).resume();
