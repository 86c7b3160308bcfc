import { describe, expect, it } from "vitest";
import { z } from "zod";
import { findHaproxy } from "../../../src/dev/haproxy.ts";
import { command } from "../../tooling/command.ts";

const report = z.object({
  answered: z.number(),
  moves: z.number(),
  noticed: z.record(z.string(), z.number()),
  refused: z.number(),
  broken: z.array(z.string()),
});

describe("moves between cells", () => {
  it(
    "lose no answered call, and customers of other cells notice nothing",
    { timeout: 290_000 },
    async ({ skip }) => {
      if (findHaproxy() === undefined) return skip("not installed: haproxy");
      const { code, output } = await command("node", [
        "test/cells/lab/main.ts",
        ...["--short", "--json", "--quiet", "--seed", "1"],
      ]);
      const shown = report.parse(JSON.parse(output.slice(output.indexOf("{"))));
      expect(shown, output).toMatchObject({ moves: 4, noticed: {}, broken: [] });
      expect(code).toBe(0);
      expect(shown.answered).toBeGreaterThan(100);
      expect(shown.refused).toBeGreaterThan(0);
    },
  );

  it.each([
    ["--moves=-1", /^--moves is a whole number from 0/],
    ["--nothing", /^Unknown option '--nothing'; there are --moves,/],
  ])("the lab rejects %s with a one-line reason", async (options, line) => {
    const { code, output } = await command("node", ["test/cells/lab/main.ts", ...options.split(" ")]);
    expect(output).toMatch(line);
    expect(output.trimEnd()).not.toContain("\n");
    expect(code).toBe(2);
  });
});
