import process from "node:process";
import type { Command } from "commander";
import {
  ConfigError,
  readEnvironment,
  readServeConfig,
  collectSecrets,
  type ServeConfig,
} from "../config/config.ts";
import { createLogger } from "../log.ts";
import type { Findings } from "../postgres/database/start-checks.ts";
import { outputFor } from "./command.ts";

/** `doctor`: reports what prevents `serve` from starting and which features are off. */
export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description(
      "checks configuration and preconditions of serve; prints problems, warnings and disabled features; " +
        "exits with 1 when there is a problem",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => {
      const { problems, warnings, off } = await findProblems();
      const output = outputFor(options.json ?? false);
      if (options.json) output.record({ ok: problems.length === 0, problems, warnings, off });
      else {
        for (const problem of problems) process.stdout.write(`- ${problem}\n`);
        for (const warning of warnings) process.stdout.write(`- warning: ${warning}\n`);
        for (const part of off) process.stdout.write(`- off: ${part}\n`);
        if (problems.length + warnings.length === 0) {
          output.record({
            doctor: off.length === 0 ? "everything is fine" : "all enabled features are fine",
          });
        }
      }
      if (problems.length > 0) process.exitCode = 1;
    });
}

/** How long servers may take to describe their tools, ms. */
const DESCRIBE_MS = 10_000;

async function unavailable(config: ServeConfig): Promise<string[]> {
  const { unavailableTools } = await import("../gateway/custom-tools.ts");
  const log = createLogger("silent", { secrets: [] });
  return unavailableTools(config, log, AbortSignal.timeout(DESCRIBE_MS));
}

async function findProblems(): Promise<Findings & { off: readonly string[] }> {
  try {
    const [{ checkPreconditions }, { disabledFeatures }] = await Promise.all([
      import("../start-checks.ts"),
      import("../gateway/disabled-features.ts"),
    ]);
    const config = readServeConfig(readEnvironment());
    const found = await checkPreconditions(
      config,
      createLogger("error", { secrets: collectSecrets(config) }),
    );
    return {
      problems: found.problems,
      warnings: [...config.misspelt, ...found.warnings, ...(await unavailable(config))],
      off: await disabledFeatures(config),
    };
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, warnings: [], off: [] };
    throw error;
  }
}
