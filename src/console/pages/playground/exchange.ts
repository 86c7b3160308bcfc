import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { parseJson } from "./schema.ts";

export interface Exchange {
  readonly method: "POST";
  readonly path: string;
  /** The key is masked. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly response: ExchangeResponse;
}

export interface ExchangeResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; undefined if it is not JSON. */
  readonly body: JsonValue | undefined;
  /** From the request to the end of the response, ms. */
  readonly durationMs: number;
}

/** Reads a response; `status` replaces that of a stream which ended with an error. */
export type ReadBody = (response: Response) => Promise<{ status?: number; body: JsonValue | undefined }>;

const SHOWN_HEADERS = ["x-request-id", "retry-after", "x-ratelimit-remaining", "payment-response"] as const;

/** POSTs JSON with an API key, without the cookie. @throws TypeError if the gateway is unreachable */
export async function post(
  path: string,
  key: string,
  body: JsonObject,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
  read: ReadBody = readJson,
): Promise<Exchange> {
  const started = performance.now();
  const response = await fetch(path, {
    method: "POST",
    credentials: "omit",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  const { status = response.status, body: answer } = await read(response);
  return {
    method: "POST",
    path,
    headers: { Authorization: `Bearer ${maskSecret(key)}`, "Content-Type": "application/json", ...headers },
    body,
    response: {
      status,
      headers: Object.fromEntries(
        SHOWN_HEADERS.flatMap((name) => {
          const value = response.headers.get(name);
          return value === null ? [] : [[name, value]];
        }),
      ),
      body: answer,
      durationMs: performance.now() - started,
    },
  };
}

/** Shortens a key so that it can be recognised but not used. */
export function maskSecret(key: string): string {
  return `${key.slice(0, 13)}…`;
}

/** Encodes a payment for X-Payment: JSON as base64url without padding. */
export function encodedPayment(payment: JsonObject): string {
  return toBase64(new TextEncoder().encode(JSON.stringify(payment)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCodePoint(...bytes));
}

/** Decodes base64. @throws DOMException if it is invalid */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.codePointAt(0) ?? 0);
}

export const readJson: ReadBody = async (response) => {
  const read = parseJson(await response.text());
  return { body: "value" in read ? read.value : undefined };
};
