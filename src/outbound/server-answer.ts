import type { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { Dispatcher } from "undici";

/** A server's response. Its body must be read or discarded, or its connection stays open. */
export interface ServerAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Decoded; throws {@link ResponseTooLongError} at the first byte beyond the limit. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Names in lower case; complete after the body. */
  readonly trailers: Readonly<Record<string, string>>;
  /** Closes the connection of a body that is not read. */
  discard(): void;
}

export class ResponseTooLongError extends RangeError {
  override name = "AnswerTooLongError";

  constructor(most: number) {
    super(`the response is longer than ${most} bytes`);
  }
}

export const ACCEPT_ENCODING = "gzip, deflate, br";

/** More would let a small body expand without end. */
const MAX_CODINGS = 5;

/** Servers that cut the end of a compressed body are read as far as they got. */
const [GZIP, BROTLI] = [
  { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH },
  { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH },
];

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", () => createGunzip(GZIP)],
  ["x-gzip", () => createGunzip(GZIP)],
  ["deflate", () => createInflate(GZIP)],
  ["br", () => createBrotliDecompress(BROTLI)],
]);

/** @param most bytes of the decoded body */
export function serverAnswer(response: Dispatcher.ResponseData, most: number): ServerAnswer {
  const { statusCode: status, body, trailers } = response;
  // Its reader gets the error; a discarded body has none.
  body.on("error", () => {});
  const headers = new Headers();
  for (const [name, value = []] of Object.entries(response.headers))
    for (const one of [value].flat()) headers.append(name, one);
  return {
    status,
    headers,
    body: limitedChunks(most, decoded(body, headers.get("content-encoding"))),
    trailers,
    discard: () => body.destroy(),
  };
}

/** Without a coding that is not known (RFC 9110 section 8.4), and those before it. */
function decoded(body: Readable, codings: string | null): Readable {
  if (codings === null) return body;
  const names = codings.toLowerCase().split(",", MAX_CODINGS + 1);
  if (names.length > MAX_CODINGS) return body.destroy(new RangeError("the response has too many codings"));
  let readable = body;
  for (const name of names.toReversed()) {
    const decoder = DECODERS.get(name.trim())?.();
    if (!decoder) return readable;
    // Errors of either end reach the reader.
    readable = pipeline(readable, decoder, () => {});
  }
  return readable;
}

/** @throws ResponseTooLongError at the first byte beyond the limit */
export async function* limitedChunks(
  most: number,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new ResponseTooLongError(most);
    yield chunk;
  }
}
