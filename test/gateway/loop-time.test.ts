import { setImmediate as turn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { DatabaseUnavailableError } from "../../src/postgres/database/database-errors.ts";
import { withRetry } from "../../src/postgres/database/retry.ts";
import { LoopTimer, loopTime } from "../../src/loop-time.ts";

function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it("leaves time to read data that arrived during a stall", async () => {
  const ended = vi.fn();
  const timer = new LoopTimer(1_300, ended);
  stall(2_000);
  await turn();
  await turn();
  expect(ended).not.toHaveBeenCalled();
  await expect.poll(() => ended.mock.calls.length).toBe(1);
  timer.clear();
});

it("fires on time, later when refreshed, and never when cleared", async () => {
  const since = loopTime();
  const [plain, refreshed, cleared] = [
    vi.fn(() => loopTime() - since),
    vi.fn(() => loopTime() - since),
    vi.fn(),
  ];
  const [, later] = [new LoopTimer(60, plain), new LoopTimer(60, refreshed)];
  new LoopTimer(60, cleared).clear();
  await new Promise<void>((resolve) => void new LoopTimer(40, resolve));
  later.refresh();
  await expect.poll(() => refreshed.mock.calls.length).toBe(1);
  // Timers count whole milliseconds.
  expect(plain.mock.results[0]?.value).toBeGreaterThanOrEqual(59);
  expect(refreshed.mock.results[0]?.value).toBeGreaterThanOrEqual(99);
  expect(cleared).not.toHaveBeenCalled();
});

it("retries a statement whose response a stall delayed", async () => {
  let sent = 0;
  const answer = withRetry(1_500, async () => {
    if (++sent > 1) return "stored";
    await turn();
    stall(2_000);
    throw new Error("Query read timeout");
  });
  await expect(answer).resolves.toBe("stored");
  const away = withRetry(0, () => Promise.reject(new Error("Query read timeout")));
  await expect(away).rejects.toBeInstanceOf(DatabaseUnavailableError);
});
