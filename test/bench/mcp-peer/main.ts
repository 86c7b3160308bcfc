import { createServer } from "node:http";
import process from "node:process";

// A stateless MCP server with `echo`, as the official library makes one.
// node test/bench/mcp-peer/main.ts v1|v2

const { handle } = process.argv[2] === "v1" ? await import("./sdk-v1.ts") : await import("./sdk-v2.ts");
const server = createServer((request, response) => {
  // The library's types require what every request of a server has.
  const { method = "", url = "" } = request;
  void handle(Object.assign(request, { method, url }), response);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`${JSON.stringify({ port: address?.port })}\n`);
});
