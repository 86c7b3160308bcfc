import { ChunkBuffer } from "../../domain/core/chunk-buffer.ts";

/** Smallest chunk passed on, except the last. */
const MIN_CHUNK_BYTES = 16 * 1024;

/**
 * Joins small chunks of a request body: Connect rescans everything it has with each chunk, which may be one
 * byte.
 */
export async function* joinedChunks(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let pieces = new ChunkBuffer();
  for await (const { buffer, byteOffset, byteLength } of body) {
    pieces.append(Buffer.from(buffer, byteOffset, byteLength));
    if (pieces.length < MIN_CHUNK_BYTES) continue;
    yield Uint8Array.from(pieces.concat());
    pieces = new ChunkBuffer();
  }
  if (pieces.length > 0) yield Uint8Array.from(pieces.concat());
}
