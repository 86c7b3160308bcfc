import path from "node:path";
import { describe, expect, it } from "vitest";
import { command, ROOT, type Finished } from "../tooling/command.ts";

describe("the benchmark", () => {
  // Rounds are so short that a busy machine may have nothing to show for one of them, which ends the benchmark: as it should.
  it("measures every part, short, with every answer checked", { timeout: 300_000, retry: 1 }, async () => {
    const { code, output } = await bench("--short", "--json", "--verbose");
    expect(code, output).toBe(0);
    expect(output).toMatch(/^echo: \d+\.\d s(, \d+ % of its processor time taken by other machines)?$/m);
    const lines = output.split("\n").filter((line) => line.startsWith("{"));
    expect(lines.map(measureOf)).toEqual(
      expect.arrayContaining([
        "start of serve, beyond Node's own",
        "HTTP echo: throughput",
        "MCP echo, 2026-07-28: server CPU per call",
        "HTTP 402: throughput",
        "x402: purchase: throughput",
        "gRPC echo: throughput",
        "paid call, one account, 16 connections: throughput",
        "proof, the whole paid call: throughput",
        "proof: RPC requests",
        "paid call, 1 at once: durable commits per call",
        "paid call, 5 accounts, 2 instances, 64 connections: throughput",
        "audit of 5000 transfers",
        "sandbox: JavaScript, warm",
      ]),
    );
  });

  it.each([
    [["--only", "nothing"], "there is no part nothing; there are start, echo, mcp, 402"],
    [["--rounds", "0"], '--rounds is a whole number from 1 to 9999999, and not "0"'],
    [["--short", "--write"], "--short measures nothing that could be kept"],
  ])("says what is wrong with %j", async (options, problem) => {
    const { code, output } = await bench(...options);
    expect(output).toContain(problem);
    expect(code).toBe(2);
  });
});

/** What the benchmark imports is compiled once. */
function bench(...options: string[]): Promise<Finished> {
  const compiled = path.join(ROOT, "node_modules", ".cache", "compile");
  return command("node", ["test/bench/main.ts", ...options], { env: { NODE_COMPILE_CACHE: compiled } });
}

/** The measure of a line, if it has a ratio. */
function measureOf(line: string): string | undefined {
  const { measure, value } = JSON.parse(line);
  return value > 0 ? measure : undefined;
}
