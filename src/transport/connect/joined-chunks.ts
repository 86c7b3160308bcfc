import { ChunkBuffer } from "../../domain/pieces.ts";

/** Bytes that are handed on together, unless they are the last. */
const MIN_CHUNK_BYTES = 16 * 1024;

/** The body of a request for one message, in fewer pieces: Connect looks at all that it has with each new one, which may be one byte. */
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
