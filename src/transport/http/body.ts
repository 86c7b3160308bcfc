import type { IncomingMessage } from "node:http";
import { ToolgateError } from "../../domain/core/errors.ts";
import { ChunkBuffer } from "../../domain/core/chunk-buffer.ts";

const EMPTY = Buffer.alloc(0);

/** @throws ToolgateError PAYLOAD_TOO_LARGE when Content-Length exceeds the limit */
export function checkDeclaredLength(request: IncomingMessage, limit: number): void {
  const declared = request.headers["content-length"];
  if (declared !== undefined && Number(declared) > limit) throw tooLarge(limit);
}

/** Returns whether the request has a body (RFC 9112 section 6.3). */
export function hasBody(request: IncomingMessage): boolean {
  const declared = request.headers["content-length"];
  return request.headers["transfer-encoding"] !== undefined || (declared !== undefined && declared !== "0");
}

/** Reads the body, synchronously if it is there. @throws ToolgateError PAYLOAD_TOO_LARGE, CANCELLED */
export function readBody(request: IncomingMessage, limit: number): Buffer | Promise<Buffer> {
  if (request.complete || hasWholeBody(request)) return asArrived(request, limit);
  // The events below fired before this call.
  if (request.destroyed) throw new ToolgateError("CANCELLED", "the client disconnected");
  return new Promise((resolve, reject) => {
    const pieces = new ChunkBuffer();
    request.on("data", (piece: Buffer) => {
      if (pieces.length + piece.length > limit) {
        pieces.clear();
        reject(tooLarge(limit));
      } else {
        pieces.append(piece);
      }
    });
    request.on("end", () => resolve(pieces.concat()));
    request.on("error", (cause) =>
      reject(new ToolgateError("CANCELLED", "the client disconnected", { cause })),
    );
    request.on("close", () => {
      if (!request.complete) reject(new ToolgateError("CANCELLED", "the client disconnected"));
    });
  });
}

/** Node delivers a body before it reports its end, which would take another turn of the event loop. */
function hasWholeBody({ headers, readableLength }: IncomingMessage): boolean {
  const declared = headers["content-length"];
  return declared !== undefined && readableLength === Number(declared);
}

function asArrived(request: IncomingMessage, limit: number): Buffer {
  const bytes: unknown = request.read();
  if (!Buffer.isBuffer(bytes)) return EMPTY;
  if (bytes.length > limit) throw tooLarge(limit);
  return bytes;
}

export function tooLarge(limit: number): ToolgateError {
  return new ToolgateError("PAYLOAD_TOO_LARGE", `body: is larger than ${limit} bytes; send less`);
}
