import process from "node:process";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { command } from "../tooling/command.ts";

/** `npm run faults:check`: also the tests of the lab itself that repeat it at length. */
const THOROUGH = process.env["FAULTS"] === "everything";

const report = z.object({
  counts: z.record(z.string(), z.number()),
  faults: z.record(z.string(), z.number()),
  violations: z.array(z.object({ promise: z.string(), profile: z.string(), details: z.unknown() })),
});

/** Runs the lab like `npm run faults`. */
async function faults(
  ...args: string[]
): Promise<{ code: number; output: string; reported: z.output<typeof report> }> {
  const { code, output } = await command("node", ["test/faults/main.ts", "--json", "--quiet", ...args]);
  return { code, output, reported: report.parse(JSON.parse(output.slice(output.search(/^\{/m)))) };
}

describe("the fault lab", () => {
  // On a busy machine that is few calls: other seeds go on until every kind of call was made.
  it("finds no broken promise under any fault", async () => {
    const made = { acknowledged: 0, metered: 0, streamed: 0, keyless: 0, strikes: 0 };
    for (const seed of ["4", "5", "6"]) {
      const { code, output, reported } = await faults("--short", "--seed", seed);
      expect(reported.violations, output).toEqual([]);
      expect(code).toBe(0);
      const { durable, replays, audits, quiet, ...counts } = reported.counts;
      expect(replays).toBe(durable);
      expect(audits).toBeGreaterThan(7);
      expect(quiet).toBe(8);
      for (const kind of ["acknowledged", "metered", "streamed", "keyless"] as const)
        made[kind] += counts[kind] ?? 0;
      made.strikes += Object.values(reported.faults).reduce((sum, strikes) => sum + strikes, 0);
      if (made.acknowledged > 30 && made.streamed > 3 && made.keyless > 0 && made.strikes > 1) break;
    }
    expect(made.acknowledged).toBeGreaterThan(30);
    expect(made.metered).toBeGreaterThan(made.streamed);
    expect(made.streamed).toBeGreaterThan(3);
    expect(made.keyless).toBeGreaterThan(0);
    expect(made.strikes).toBeGreaterThan(1);
  });

  // Needs a stall that outlasts a lease, which a busy machine may not produce in one run.
  it.runIf(THOROUGH)("finds a deliberately broken guarantee", { retry: 2 }, async () => {
    const stalls = ["--duration", "20", "--phase", "10", "--profile", "stalls"];
    const { code, reported } = await faults(...stalls, "--seed", "4", "--mutant");
    expect(reported.violations.map(({ promise }) => promise)).toContain("the audit is clean");
    expect(reported.violations[0]?.profile).toBe("stalls");
    expect(code).toBe(1);
  });

  it("prints its options", async () => {
    const { code, output } = await command("node", ["test/faults/main.ts", "--help"]);
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(/--profile A,B +kinds of faults: kills, stalls,/),
    ]);
  });
});
