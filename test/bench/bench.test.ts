import path from "node:path";
import { describe, expect, it } from "vitest";
import { command, ROOT, type Finished } from "../tooling/command.ts";

describe("the benchmark", () => {
  // Rounds are so short that a busy machine may have no result, which ends the benchmark. `npm run bench --
  // --short` runs every part so.
  it("runs every part briefly with every answer checked", { timeout: 300_000, retry: 1 }, async () => {
    const { code, output } = await bench("--short", "--json", "--verbose", "--only", "echo,402,audit");
    expect(code, output).toBe(0);
    expect(output).toMatch(/^echo: \d+\.\d s(, \d+ % of the CPU time stolen[^,]*)?$/m);
    const lines = output.split("\n").filter((line) => line.startsWith("{"));
    expect(lines.map(measureOf)).toEqual(
      expect.arrayContaining(["HTTP echo: throughput", "HTTP 402: throughput", "audit of 5000 transfers"]),
    );
  });

  it.each([
    [["--only", "nothing"], "unknown part nothing; choose from cost, start, echo, mcp"],
    [["--rounds", "0"], '--rounds is a whole number from 1 to 9999999, and not "0"'],
    [["--short", "--write"], "--short produces no results to save"],
  ])("rejects %j with the reason", async (options, problem) => {
    const { code, output } = await bench(...options);
    expect(output).toContain(problem);
    expect(code).toBe(2);
  });
});

/** Imports of the benchmark are compiled once. */
function bench(...options: string[]): Promise<Finished> {
  const compiled = path.join(ROOT, "node_modules", ".cache", "compile");
  return command("node", ["test/bench/main.ts", ...options], { env: { NODE_COMPILE_CACHE: compiled } });
}

/** The measure of a line, if it has a ratio. */
function measureOf(line: string): string | undefined {
  const { measure, value } = JSON.parse(line);
  return value > 0 ? measure : undefined;
}
