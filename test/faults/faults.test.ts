import { describe, expect, it } from "vitest";
import { z } from "zod";
import { command } from "../tooling/command.ts";
import { THOROUGH } from "./thorough.ts";

const report = z.object({
  counts: z.record(z.string(), z.number()),
  actions: z.record(z.string(), z.number()),
  violations: z.array(z.object({ promise: z.string(), profile: z.string(), details: z.unknown() })),
});

/** Runs the fault tests like `npm run faults`. */
async function faults(
  ...args: string[]
): Promise<{ code: number; output: string; reported: z.output<typeof report> }> {
  const { code, output } = await command("node", ["test/faults/main.ts", "--json", "--quiet", ...args]);
  const json = output.indexOf("\n{") < 0 ? output : output.slice(output.indexOf("\n{"));
  return { code, output, reported: report.parse(JSON.parse(json)) };
}

describe("fault tests", () => {
  // Seconds per profile; `npm run faults` takes this as an option. On a busy machine that is few calls: other
  // seeds go on until every kind of call was made.
  it("find no violation under any fault", async () => {
    const made = { acknowledged: 0, metered: 0, streamed: 0, keyless: 0, strikes: 0 };
    for (const seed of ["4", "5", "6"]) {
      const run = ["--duration", "7", "--phase", "1", "--customers", "6", "--seed", seed];
      const { code, output, reported } = await faults(...run);
      expect(reported.violations, output).toEqual([]);
      expect(code).toBe(0);
      const { durable, replays, audits, quiet, ...counts } = reported.counts;
      expect(replays).toBe(durable);
      expect(audits).toBeGreaterThan(7);
      expect(quiet).toBe(7);
      for (const kind of ["acknowledged", "metered", "streamed", "keyless"] as const)
        made[kind] += counts[kind] ?? 0;
      made.strikes += Object.values(reported.actions).reduce((sum, strikes) => sum + strikes, 0);
      if (made.acknowledged > 30 && made.streamed > 3 && made.keyless > 0 && made.strikes > 1) break;
    }
    expect(made.acknowledged).toBeGreaterThan(30);
    expect(made.metered).toBeGreaterThan(made.streamed);
    expect(made.streamed).toBeGreaterThan(3);
    expect(made.keyless).toBeGreaterThan(0);
    expect(made.strikes).toBeGreaterThan(1);
  });

  // Needs a stall that outlasts a lease, which a busy machine may not produce in one run.
  it.runIf(THOROUGH)("find a deliberately broken guarantee", { retry: 2 }, async () => {
    const stalls = ["--duration", "20", "--phase", "10", "--profile", "stalls", "--customers", "40"];
    const { code, reported } = await faults(...stalls, "--seed", "4", "--mutant", "finish-not-fenced");
    expect(reported.violations.map(({ promise }) => promise)).toContain("the audit is clean");
    expect(reported.violations[0]?.profile).toBe("stalls");
    expect(code).toBe(1);
  });

  it.each([
    ["--profile nothing", /^there is no profile nothing; there are all, kills, stalls,/],
    ["--mutant nothing", /^there is no mutant nothing; there are finish-not-fenced,/],
    ["--nothing", /^Unknown option '--nothing'; there are --seed, --duration,/],
    ["nothing", /^Unexpected argument 'nothing'; there are --seed,/],
    ["--seed abc", /^--seed is a whole number from 0 to 9999999, and not "abc"/],
    ["--duration 1.5", /^--duration is a whole number from 0/],
    ["--calls 0", /^--calls is a whole number from 1/],
    ["--phase 1e3", /^--phase is a whole number from 1/],
    ["--customers=-1", /^--customers is a whole number from 1/],
  ])("reject %s with a one-line reason and start nothing", async (options, line) => {
    const { code, output } = await command("node", ["test/faults/main.ts", ...options.split(" ")]);
    expect(output).toMatch(line);
    expect(output.trimEnd()).not.toContain("\n");
    expect(code).toBe(2);
  });

  it("print their options", async () => {
    const { code, output } = await command("node", ["test/faults/main.ts", "--help"]);
    expect([code, output]).toEqual([
      0,
      expect.stringContaining("--profile NAME   all (the default), kills, stalls,"),
    ]);
  });
});
