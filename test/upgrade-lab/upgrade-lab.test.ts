import { expect, it } from "vitest";
import { z } from "zod";
import { command } from "../tooling/command.ts";

const report = z.object({
  upgrades: z.array(z.object({ to: z.string(), applied: z.number(), acknowledged: z.array(z.number()) })),
  violations: z.array(z.unknown()),
});

it("an upgrade under load, with two versions side by side, loses no call and charges none twice", async () => {
  const args = ["test/upgrade-lab/main.ts", "--short", "--json", "--quiet", "--seed", "4"];
  const { code, output } = await command("node", args);
  const { upgrades, violations } = report.parse(JSON.parse(output.slice(output.search(/^\{/m))));
  expect(violations, output).toEqual([]);
  expect(code).toBe(0);
  // A shallow clone does not have the version before.
  expect(upgrades.at(-1)).toMatchObject({ to: "made-up" });
  expect(upgrades.at(-1)?.applied).toBeGreaterThan(0);
  for (const calls of upgrades.flatMap(({ acknowledged }) => acknowledged)) expect(calls).toBeGreaterThan(0);
});
