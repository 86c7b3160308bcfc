import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import { sunDay } from "./sun.ts";

/**
 * A stand-in for a third-party API, for development and tests: sunrise and sunset times, described by
 * openapi.yaml and protected by a key. `dev` registers it as a custom tool.
 *
 * Usage: node main.ts
 * Prints one line {"url":"http://127.0.0.1:<port>","key":"…"} when it is ready. Ends on SIGTERM or when its
 * standard input closes.
 */

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

const DAY_MS = 86_400_000;

const number = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform(Number);
const query = z.strictObject({
  latitude: number.pipe(z.number().min(-90).max(90)),
  longitude: number.pipe(z.number().min(-180).max(180)),
  days: number.pipe(z.int().min(1).max(31)).optional(),
});

/** Responds to GET /v1/sun/{date} with a valid X-Api-Key. Every response states that it is a stand-in. */
function respond(request: IncomingMessage, response: ServerResponse, key: string): void {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
  const date = /^\/v1\/sun\/(\d{4}-\d{2}-\d{2})$/.exec(pathname)?.[1];
  if (request.method !== "GET" || date === undefined)
    return send(response, 404, { error: "there is GET /v1/sun/{date} only" });
  if (request.headers["x-api-key"] !== key)
    return send(response, 401, { error: "X-Api-Key: is missing or unknown" });
  const parsed = query.safeParse(Object.fromEntries(searchParams));
  if (!parsed.success) return send(response, 400, { error: z.prettifyError(parsed.error) });
  const { latitude, longitude, days = 1 } = parsed.data;
  const midnight = Date.parse(date);
  if (Number.isNaN(midnight)) return send(response, 400, { error: "date: is no day" });
  send(response, 200, {
    days: Array.from({ length: days }, (_, index) => sunDay(midnight + index * DAY_MS, latitude, longitude)),
    provided_by: "Toolgate's local stand-in for a third-party API",
  });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
