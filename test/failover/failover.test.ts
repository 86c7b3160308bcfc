import { describe, expect, it } from "vitest";
import { z } from "zod";
import { command } from "../tooling/command.ts";
import { missingPackages } from "../support/programs.ts";

const report = z.object({
  failovers: z.array(z.object({ kind: z.string(), from: z.string(), to: z.string(), lost: z.number() })),
  counts: z.record(z.string(), z.number()),
  violations: z.array(z.unknown()),
});

describe("a failover of the database", () => {
  const missing = missingPackages();

  it("loses no acknowledged call and charges none twice", async ({ skip }) => {
    if (missing.length > 0) return skip(`not installed: ${missing.join(", ")}`);
    const { code, output } = await command("node", [
      "test/failover/main.ts",
      ...["--short", "--json", "--quiet", "--seed", "4"],
    ]);
    const { failovers, counts, violations } = report.parse(JSON.parse(output.slice(output.indexOf("{"))));
    expect(violations, output).toEqual([]);
    expect(code).toBe(0);
    expect(failovers.map(({ kind }) => kind).sort()).toEqual(["killed", "stopped"]);
    for (const { from, to } of failovers) expect(to).not.toBe(from);
    expect(failovers.map(({ lost }) => lost)).toEqual([0, 0]);
    expect(counts["durable"]).toBeGreaterThan(100);
    expect(counts["replays"]).toBe(counts["durable"]);
  });

  it.each([
    ["--kinds nothing", /^there is no kind nothing; there are killed, stopped,/],
    ["--failovers 0", /^--failovers is a whole number from 1/],
    ["--nothing", /^Unknown option '--nothing'; there are --seed, --failovers,/],
  ])("the lab rejects %s with a one-line reason", async (options, line) => {
    const { code, output } = await command("node", ["test/failover/main.ts", ...options.split(" ")]);
    expect(output).toMatch(line);
    expect(output.trimEnd()).not.toContain("\n");
    expect(code).toBe(2);
  });
});
