import { Session } from "node:inspector/promises";
import { expect, it } from "vitest";
import { ChunkBuffer } from "../../../src/domain/core/chunk-buffer.ts";

async function heapUsed(): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
  return process.memoryUsage().heapUsed;
}

it.each([0, 1, 2, 255, 256, 257, 1_000])("returns %s chunks as one buffer in order", (count) => {
  const pieces = new ChunkBuffer();
  const texts = Array.from({ length: count }, (_, index) => `${index},`);
  for (const text of texts) pieces.append(Buffer.from(text));
  expect(pieces.concat().toString()).toBe(texts.join(""));
  expect(pieces.length).toBe(texts.join("").length);
});

it("returns a single chunk without copying", () => {
  const pieces = new ChunkBuffer();
  const piece = Buffer.from("as it is");
  pieces.append(piece);
  expect(pieces.concat()).toBe(piece);
});

it("stores many small chunks in little more than their size", async () => {
  const [pieces, packet] = [new ChunkBuffer(), Buffer.alloc(10_000)];
  const before = await heapUsed();
  // Unchanged, 100 bytes each.
  for (let index = 0; index < 200_000; index++)
    pieces.append(packet.subarray(index % 10_000, (index % 10_000) + 1));
  expect((await heapUsed()) - before).toBeLessThan(4_000_000);
  expect(pieces.length).toBe(200_000);
});
