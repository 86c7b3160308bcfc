import { expect, it } from "vitest";
import { withoutRepeats } from "../../../src/app/operations/repeated-faults.ts";

/** Times that the test lets pass. */
function timers() {
  const waiting: (() => void)[] = [];
  return {
    after: (_ms: number, run: () => void) => void waiting.push(run),
    pass: () => waiting.splice(0).forEach((run) => run()),
  };
}

it("logs a fault once, counts its repeats, and keeps different faults apart", () => {
  const lines: object[] = [];
  const { after, pass } = timers();
  const write = (details: object, message: string) => void lines.push({ message, ...details });
  const log = withoutRepeats({ info: write, warn: write, error: write }, after);
  const fail = (err: unknown) => log.error({ request_id: "req_1", err }, "request failed");
  for (let n = 0; n < 50; n++) fail(new TypeError(`row ${n} of 0198f6a1b2c3d4e5 is missing`));
  fail(new TypeError("another"));
  log.warn({}, "twice");
  log.warn({}, "twice");
  expect(lines).toHaveLength(4);
  pass();
  expect(lines.slice(4)).toEqual([
    {
      message: "the same fault again",
      event: "fault_repeated",
      fault: "request failed: TypeError: row … of … is missing",
      repeated: 49,
    },
  ]);
  fail(new TypeError("another"));
  expect(lines).toHaveLength(6);
});
