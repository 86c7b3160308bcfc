import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import { sunDay } from "./sun.ts";

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
export function respond(request: IncomingMessage, response: ServerResponse, key: string): void {
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
