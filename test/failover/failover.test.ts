import { expect, it } from "vitest";
import { z } from "zod";
import { missingPackages } from "../support/programs.ts";
import { command } from "../tooling/command.ts";

const report = z.object({
  failovers: z.array(z.object({ kind: z.string(), from: z.string(), to: z.string(), lost: z.number() })),
  counts: z.record(z.string(), z.number()),
  violations: z.array(z.unknown()),
});

it("a failover of the database loses no acknowledged call and charges none twice", async ({ skip }) => {
  const missing = missingPackages("patroni", "etcd", "haproxy");
  if (missing.length > 0) return skip(`not installed: ${missing.join(", ")}`);
  const args = ["test/failover/main.ts", "--short", "--json", "--quiet", "--seed", "4"];
  const { code, output } = await command("node", args);
  const { failovers, counts, violations } = report.parse(JSON.parse(output.slice(output.search(/^\{/m))));
  expect(violations, output).toEqual([]);
  expect(code).toBe(0);
  expect(failovers.map(({ kind }) => kind).sort()).toEqual(["killed", "stopped"]);
  for (const { from, to } of failovers) expect(to).not.toBe(from);
  expect(failovers.map(({ lost }) => lost)).toEqual([0, 0]);
  expect(counts["durable"]).toBeGreaterThan(100);
  expect(counts["replays"]).toBe(counts["durable"]);
});
