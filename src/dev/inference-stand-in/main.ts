/**
 * A local stand-in for a model server, for development and tests: speaks enough of the OpenAI API for
 * `inference_chat` to work without an account anywhere, and says in every answer that it is no model.
 *
 * Usage: node main.ts [port]   (0 or nothing: a free port) Prints one line
 * {"url":"http://127.0.0.1:<port>/v1"} when it is ready; ends on SIGTERM or when its standard input closes.
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
// Whoever was to read the line has died before it was written.
process.stdout.once("error", stop);
process.stdin.once("end", stop).once("error", stop).resume();
