import { describe, expect, it } from "vitest";

import { Progress, type ProgressEvent } from "./progress.ts";

function progress(...events: ProgressEvent[]): Progress {
  let now = 0;
  const all = new Progress(() => now++);
  all.add(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  return all;
}

function file(name: string, failed: boolean, ...states: string[]): ProgressEvent[] {
  return [
    { event: "file", file: name },
    { event: "end", file: name, failed, states },
  ];
}

const END: ProgressEvent = { event: "run-end", errors: 0 };

describe("the count at the end of npm test", () => {
  it("sums the tests of every file", () => {
    const run = progress(
      ...file("a", false, "passed", "passed"),
      ...file("b", true, "failed", "passed", "skipped"),
      END,
    );
    expect(run.counts(1)).toEqual({ passed: 3, failed: 1, skipped: 1 });
  });

  it("counts a file that did not load as one failure", () => {
    expect(progress(...file("a", true), ...file("b", false, "passed"), END).counts(1)).toEqual({
      ...{ passed: 1, failed: 1, skipped: 0 },
    });
  });

  it("counts an error outside of every test as one failure", () => {
    expect(progress(...file("a", false, "passed"), { event: "run-end", errors: 1 }).counts(0).failed).toBe(1);
    expect(progress(...file("a", false, "passed"), END).counts(1).failed).toBe(1);
  });

  it("counts a file that has not ended as one failure, and its finished tests", () => {
    const run = progress(
      { event: "file", file: "a" },
      { event: "test", file: "a", test: "one" },
      { event: "result", file: "a", test: "one", state: "passed" },
      { event: "test", file: "a", test: "two" },
    );
    expect(run.counts(143)).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(run.running()).toEqual([{ file: "a", tests: ["two"], lastEvent: 4 }]);
  });

  it.each([
    ["no event, because vitest crashed", progress()],
    ["no test at all", progress(END)],
    ["nothing but skipped tests", progress(...file("a", false, "skipped"), END)],
  ])("counts %s as one failure", (_what, run) => {
    expect(run.counts(0)).toMatchObject({ passed: 0, failed: 1 });
  });

  it("reads lines split over chunks", () => {
    const run = progress();
    const text = file("a", false, "passed")
      .map((event) => `${JSON.stringify(event)}\n`)
      .join("");
    for (const piece of [text.slice(0, 7), text.slice(7, 40), text.slice(40)]) run.add(piece);
    expect(run.counts(0)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });
});
