import { setTimeout } from "node:timers/promises";

/** A machine that does much else needs long; a test waits at most ten minutes. */
const LIMIT_MS = 300_000;
const PAUSE_MS = 100;

/**
 * Waits for a fact, where `expect.poll` does not exist: in hooks and helpers.
 * @param fact is asked until it returns a value that is truthy; what it throws counts as not yet
 * @throws when it takes too long, with the last error as the cause
 */
export async function until<Fact>(
  fact: () => Fact | Promise<Fact>,
  limitMs: number = LIMIT_MS,
): Promise<NonNullable<Fact>> {
  const end = performance.now() + limitMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await fact();
      if (value) return value;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > end) throw new Error(`not so within ${limitMs} ms: ${String(fact)}`, { cause });
    await setTimeout(PAUSE_MS);
  }
}
