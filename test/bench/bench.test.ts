import path from "node:path";
import { describe, expect, it } from "vitest";
import { command, ROOT, type Finished } from "../tooling/command.ts";

describe("the benchmark", () => {
  // Rounds are so short that a busy machine may have no result, which ends the benchmark.
  it("measures quickly and checks every answer", { timeout: 300_000, retry: 1 }, async () => {
    const { code, output } = await bench("--quick", "--only", "http,402,audit");
    expect(code, output).toBe(0);
    expect(output).toMatch(/^\| 1\. free call, HTTP: CPU, throughput .* \d+\.\d+ +\|/m);
    expect(output).toMatch(/^\| 4\. 402 with a quote: CPU, throughput .* \d+\.\d+ +\|/m);
    expect(output).toMatch(/^\| 14\. audit: 5,000 transfers +\| \d+\.\d+ s/m);
  });

  it.each([
    [["--only", "nothing"], "unknown part nothing; choose from http, mcp, grpc, 402"],
    [["--quick", "--write"], "--write saves neither the figures of --quick"],
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
