import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { constants, gunzip, zstdDecompress } from "node:zlib";
import { ToolgateError } from "../../domain/core/errors.ts";

/** Bytes of a window: what RFC 8878, 3.1.1.1.2 recommends to support. A frame may ask for gigabytes. */
const WINDOW_LOG = 23;

type Decode = (body: Buffer, maxOutputLength: number) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: (body, maxOutputLength) => promisify(gunzip)(body, { maxOutputLength }),
  zstd: (body, maxOutputLength) => {
    const params = { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG };
    return promisify(zstdDecompress)(body, { maxOutputLength, params });
  },
};

/** The codings of bodies that are read, as a header has them. */
export const CODINGS = Object.keys(DECODERS).join(", ");

/** Returns the coding of a body (RFC 9110 section 8.4); undefined: none. @throws ToolgateError */
export function codingOf({ "content-encoding": header }: IncomingHttpHeaders): string | undefined {
  const coding = header?.toLowerCase();
  if (coding === undefined || coding === "identity") return undefined;
  if (!Object.hasOwn(DECODERS, coding)) throw new UnknownCodingError();
  return coding;
}

/** RFC 9110 section 15.5.16: the response has the header Accept-Encoding. */
export class UnknownCodingError extends ToolgateError {
  constructor() {
    super("UNSUPPORTED_MEDIA_TYPE", `content-encoding: must be ${CODINGS} or identity`);
  }
}

/**
 * Decodes a body beside this thread, up to a number of bytes.
 * @returns undefined: it has more. @throws ToolgateError INVALID_REQUEST
 */
export async function decoded(body: Buffer, coding: string, limit: number): Promise<Buffer | undefined> {
  try {
    return await DECODERS[coding]?.(body, limit);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw new ToolgateError("INVALID_REQUEST", `body: is not valid ${coding}; send it again`, { cause });
  }
}
