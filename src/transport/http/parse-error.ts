import { STATUS_CODES } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";
import type { HttpResponse } from "./response.ts";

/** Largest request line and headers, bytes. */
export const HEAD_LIMIT = 32 * 1024;

/** Maps a parse error of Node to a client error. @param code code of Node's or llhttp's error */
export function parseError(code: string | undefined): ToolgateError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      // RFC 6585 section 5
      return new ToolgateError(
        "PAYLOAD_TOO_LARGE",
        `request line and headers: are larger than ${HEAD_LIMIT} bytes`,
        {
          status: 431,
        },
      );
    case "ERR_HTTP_REQUEST_TIMEOUT":
      // RFC 9110 section 15.5.9
      return new ToolgateError("INVALID_REQUEST", "the request did not arrive in time", { status: 408 });
    default:
      return new ToolgateError("INVALID_REQUEST", "the request is not HTTP/1.1 (RFC 9112)");
  }
}

/** Serialises a response for a socket without a ServerResponse; closes the connection. */
export function rawResponse(
  headers: readonly Header[],
  { status, json, headers: more = [] }: HttpResponse,
): string {
  const body = JSON.stringify(json);
  const lines = [...headers, ...more, ["content-type", "application/json"], ["connection", "close"]];
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const length = Buffer.byteLength(body);
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n`;
  return `${statusLine}${head}content-length: ${length}\r\n\r\n${body}`;
}
