import { createServer, type RequestListener } from "node:http";
import process from "node:process";

/** Serves on a free port of 127.0.0.1 and prints the port. */
export function listen(listener: RequestListener): void {
  const server = createServer(listener);
  // Keeps connections open between measurements.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object") print(address?.port);
  });
}

/** The line that the benchmark waits for. */
export function print(port: number | undefined): void {
  process.stdout.write(`${JSON.stringify({ port })}\n`);
}
