import type { ServerResponse } from "node:http";
import type { RequestRecord, RequestRecorder, Transport } from "../../app/operations/request-record.ts";
import type { Refusal } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";
import { DISCONNECTED } from "../limits.ts";
import { createHash } from "node:crypto";

export interface HttpResponse {
  readonly status: number;
  readonly json?: unknown;
  /** An encoded JSON body, instead of `json`. */
  readonly body?: Buffer;
  /** Of `json`. Default application/json. */
  readonly mediaType?: string;
  readonly headers?: readonly Header[];
  /** What a model server said, for protocols that have a place for it. */
  readonly refusal?: Refusal | undefined;
  /** Already started; ends with `json`. Status and headers are ignored. */
  readonly stream?: { end(answer: unknown): void } | undefined;
}

/** Sends the response unless the client has disconnected. @returns bytes of the body; 0 for a stream */
export function send(response: ServerResponse, headers: readonly Header[], answer: HttpResponse): number {
  if (answer.stream) {
    answer.stream.end(answer.json);
    return 0;
  }
  if (response.headersSent || response.destroyed) return 0;
  const body = answer.body ?? (answer.json === undefined ? "" : JSON.stringify(answer.json));
  const length = Buffer.byteLength(body);
  const raw: string[] = ["content-length", String(length), "x-content-type-options", "nosniff"];
  const mediaType = answer.mediaType ?? "application/json";
  if (answer.json !== undefined || answer.body) raw.push("content-type", mediaType);
  if (answer.status === 402) raw.push("cache-control", "no-store");
  for (const [name, value] of headers) raw.push(name, value);
  for (const [name, value] of answer.headers ?? []) raw.push(name, value);
  response.writeHead(answer.status, raw);
  // One byte per character: latin1 spares Node a scan.
  response.end(body, length === body.length ? "latin1" : "utf8");
  return length;
}

/** Records a request without an identifier of its own, until its response ends. */
export function recordUntilClosed(
  requests: RequestRecorder,
  transport: Transport,
  method: string,
  response: ServerResponse,
): RequestRecord {
  const record = requests.start(transport, "");
  record.method = method;
  response.once("close", () =>
    requests.end(record, response.writableFinished ? response.statusCode : DISCONNECTED),
  );
  return record;
}

/** Returns the entity tag of a body (RFC 9110 section 8.8.3), without quotes. */
export function tagOf(body: Buffer): string {
  return createHash("sha256").update(body).digest("base64url").slice(0, 27);
}

/** Returns whether If-None-Match contains the tag, weakly (RFC 9110 section 13.1.2), without splitting it. */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch !== undefined && (ifNoneMatch === "*" || ifNoneMatch.includes(etag));
}
