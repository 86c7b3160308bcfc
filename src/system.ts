import { randomFillSync } from "node:crypto";
import type { Clock, Random } from "./domain/core/clock.ts";

export const systemClock: Clock = { now: () => Date.now() };

const pool = Buffer.alloc(4096);
let used = pool.length;

/** Draws random bytes in blocks: small reads are slow. */
export const systemRandom: Random = {
  bytes(length) {
    if (length > pool.length) return randomFillSync(new Uint8Array(length));
    if (used + length > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = new Uint8Array(length);
    bytes.set(pool.subarray(used, used + length));
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  },
};
