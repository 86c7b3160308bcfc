import { describe, expect, it } from "vitest";
import { command } from "../tooling/command.ts";
import { ACTS } from "./acts.ts";
import type { Sample } from "./samples.ts";
import { holds, verdict, type Evidence } from "./verdict.ts";

describe("the soak test", () => {
  it("loads the gateway briefly with every act and finds nothing", async () => {
    const { code, output } = await command("node", ["test/soak/main.ts", "--short", "--json", "--quiet"]);
    expect(code, output).toBe(0);
    const { played, moments, checks } = JSON.parse(output.slice(output.search(/^\{/m)));
    expect(Object.keys(played).sort()).toEqual(ACTS.map(({ name }) => name).sort());
    expect(moments.length).toBeGreaterThan(5);
    expect(Object.values(moments.at(-1).sample)).toEqual(
      Object.values(moments[0].sample).map(() => expect.any(Number)),
    );
    expect(checks).toHaveLength(7);
  });
});

describe("the soak verdict", () => {
  const sample: Sample = {
    ...{
      seconds: 0,
      residentMb: 200,
      heapMb: 80,
      externalMb: 10,
      descriptors: 40,
      sockets: 20,
      resources: 30,
    },
    ...{ loopDelayMs: 12, databaseConnections: 8, databaseMb: 10 },
  };
  const hour = (held: (minute: number) => Partial<Sample>) =>
    Array.from({ length: 59 }, (_, minute) => ({ ...sample, seconds: minute * 60, ...held(minute) }));
  const evidence: Evidence = {
    ...{ before: sample, after: sample, acts: 1_000_000, unexpected: 0, turnedAway: 0, violations: 0 },
    // Varies by a megabyte, like real heaps.
    during: hour((minute) => ({ heapMb: 80 + Math.sin(minute * 1.7) })),
  };
  const failing = (change: Partial<Evidence>) =>
    verdict({ ...evidence, ...change })
      .filter((check) => !holds(check))
      .map(({ name }) => name);

  it("passes an hour without growth", () => expect(failing({})).toEqual([]));

  it("accepts memory growth during warm-up", () =>
    expect(failing({ during: hour((minute) => ({ heapMb: 80 + Math.min(minute, 20) })) })).toEqual([]));

  it.each([
    ["a heap that grows", { during: hour((minute) => ({ heapMb: 80 + minute * 0.13 })) }, "heap"],
    [
      "growing buffers",
      { during: hour((minute) => ({ externalMb: 10 + minute * 0.1 })) },
      "outside the heap",
    ],
    ["connections that stay", { after: { ...sample, descriptors: 60 } }, "descriptors left open"],
    ["timers that stay", { after: { ...sample, resources: 60 } }, "resources left"],
    ["one wrong answer", { unexpected: 1 }, "answers that were not expected"],
    ["callers who are refused", { turnedAway: 20_000 }, "callers not admitted"],
    ["a wrong ledger", { violations: 1 }, "violations in the audit"],
    ["figures that are no numbers", { during: hour(() => ({ heapMb: Number.NaN })) }, "heap"],
  ])("fails for %s", (_what, change, name) => {
    const names = failing(change);
    expect(names).toHaveLength(1);
    expect(names[0]).toContain(name);
  });
});
