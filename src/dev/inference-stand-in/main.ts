/**
 * A stand-in for a model server, for development and tests. Implements the part of the OpenAI API that
 * `inference_chat` uses. Every response states that it is no model.
 *
 * Usage: node main.ts [port]   (0 or omitted: a free port)
 * Prints one line {"url":"http://127.0.0.1:<port>/v1"} when it is ready. Ends on SIGTERM or when its
 * standard input closes.
 */
import { createServer } from "node:http";
import { respond } from "./respond.ts";

const port = Number(process.argv[2] ?? "0");
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  process.stderr.write("usage: main.ts [port], with a port from 0 to 65535\n");
  process.exit(2);
}

const server = createServer((request, response) => void respond(request, response));

function stop(): void {
  server.close(() => process.exit(0));
  server.closeAllConnections();
}

server.on("error", (error) => {
  process.stderr.write(`the inference stand-in cannot listen on port ${port}: ${error.message}\n`);
  process.exit(1);
});
server.listen(port, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address !== "object" || address === null) return stop();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${address.port}/v1` })}\n`);
});
process.once("SIGTERM", stop);
// The reader of the line died before it was written.
process.stdout.once("error", stop);
process.stdin.once("end", stop).once("error", stop).resume();
