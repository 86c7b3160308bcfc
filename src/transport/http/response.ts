import type { ServerResponse } from "node:http";
import { writeJson } from "../../domain/json-text.ts";
import type { Header } from "../header.ts";
import type { EventStream } from "./event-stream.ts";

/** What goes back over HTTP: a status and a JSON body, or none. */
export interface HttpResponse {
  readonly status: number;
  readonly json?: unknown;
  /** The JSON body in bytes, instead of `json`. */
  readonly body?: Buffer;
  readonly headers?: readonly Header[];
  /** Has begun already, and ends with the JSON; status and headers come too late. */
  readonly stream?: EventStream | undefined;
}

/** Writes the answer at once, with its length. Does nothing when the caller has gone. */
export function send(response: ServerResponse, headers: readonly Header[], answer: HttpResponse): void {
  if (answer.stream) return answer.stream.end(answer.json);
  if (response.headersSent || response.destroyed) return;
  const body = answer.body ?? (answer.json === undefined ? "" : writeJson(answer.json));
  const length = Buffer.byteLength(body);
  const raw: string[] = ["content-length", String(length), "x-content-type-options", "nosniff"];
  if (answer.json !== undefined || answer.body) raw.push("content-type", "application/json");
  if (answer.status === 402) raw.push("cache-control", "no-store");
  for (const [name, value] of headers) raw.push(name, value);
  for (const [name, value] of answer.headers ?? []) raw.push(name, value);
  response.writeHead(answer.status, raw);
  // Where each character is a byte, Node need not look at them again.
  response.end(body, length === body.length ? "latin1" : "utf8");
}
