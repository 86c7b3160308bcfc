import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { parseJson } from "./schema.ts";

/** A request as it went out, and what came back. */
export interface Exchange {
  readonly method: "POST";
  readonly path: string;
  /** Without the key's secret. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly response: ExchangeResponse;
}

/** What came back. */
export interface ExchangeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; undefined where it was not JSON. */
  readonly body: JsonValue | undefined;
  /** From the request to the end of the response, ms. */
  readonly durationMs: number;
}

/** Headers of answers that are worth a look. */
const SHOWN_HEADERS = ["x-request-id", "retry-after", "x-ratelimit-remaining", "payment-response"] as const;

/**
 * POSTs JSON to this gateway the way an agent does: with a key, without the console's cookie.
 * @throws TypeError when nobody answers
 */
export async function post(
  path: string,
  key: string,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Exchange> {
  const started = performance.now();
  const response = await fetch(path, {
    method: "POST",
    credentials: "omit",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  const text = await response.text();
  return {
    method: "POST",
    path,
    headers: { Authorization: `Bearer ${maskSecret(key)}`, "Content-Type": "application/json", ...headers },
    body,
    response: {
      status: response.status,
      headers: Object.fromEntries(
        SHOWN_HEADERS.flatMap((name) => {
          const value = response.headers.get(name);
          return value === null ? [] : [[name, value]];
        }),
      ),
      body: parseBody(text),
      durationMs: performance.now() - started,
    },
  };
}

/** A key so that it can be recognised and not used. */
export function maskSecret(key: string): string {
  return `${key.slice(0, 13)}…`;
}

/** An identifier that no other call has: a repeat with it is the same call. */
export function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `playground-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Base64url of a JSON text, without padding: how a payment is put into X-Payment. */
export function encodedPayment(payment: JsonObject): string {
  return toBase64(new TextEncoder().encode(JSON.stringify(payment)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

/** Bytes of base64. @throws Error when it is none */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.codePointAt(0) ?? 0);
}

function parseBody(text: string): JsonValue | undefined {
  const read = parseJson(text);
  return "value" in read ? read.value : undefined;
}
