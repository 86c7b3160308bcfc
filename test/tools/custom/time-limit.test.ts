import { expect, it } from "vitest";
import { TimeLimitError, withinMs } from "../../../src/tools/custom/time-limit.ts";

it("throws TimeLimitError when work takes too long", () => {
  expect(() =>
    withinMs(20, () => {
      for (;;);
    }),
  ).toThrow(TimeLimitError);
});

it("retries when the process was not scheduled, but not for ever", () => {
  const never = new Int32Array(new SharedArrayBuffer(4));
  let runs = 0;
  const idle = (times: number) => () => {
    runs++;
    if (runs <= times) Atomics.wait(never, 0, 0, 10_000);
    return runs;
  };
  expect(withinMs(100, idle(2))).toBe(3);
  runs = 0;
  expect(() => withinMs(100, idle(100))).toThrow(TimeLimitError);
  // A busy machine may charge scheduling time to the work, which then fails earlier.
  expect(runs).toBeGreaterThan(1);
  expect(runs).toBeLessThanOrEqual(5);
});

it("rethrows errors of the work", () => {
  const thrown = new Error("of its own");
  const work = () => {
    throw thrown;
  };
  expect(() => withinMs(1_000, work)).toThrow(thrown);
});
