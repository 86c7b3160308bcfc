import { expect, it } from "vitest";
import { z } from "zod";
import { findHaproxy } from "../../../src/dev/haproxy.ts";
import { command } from "../../tooling/command.ts";

const report = z.object({
  ...{ answered: z.number(), moves: z.number(), refused: z.number() },
  violations: z.array(z.unknown()),
});

it(
  "moves between cells lose no answered call, and customers of other cells notice nothing",
  { timeout: 290_000 },
  async ({ skip }) => {
    if (findHaproxy() === undefined) return skip("not installed: haproxy");
    const args = ["test/cells/lab/main.ts", "--short", "--json", "--quiet", "--seed", "1"];
    const { code, output } = await command("node", args);
    const shown = report.parse(JSON.parse(output.slice(output.search(/^\{/m))));
    expect(shown, output).toMatchObject({ moves: 4, violations: [] });
    expect(code).toBe(0);
    expect(shown.answered).toBeGreaterThan(100);
    expect(shown.refused).toBeGreaterThan(0);
  },
);
