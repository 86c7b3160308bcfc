import process from "node:process";
import type { Command } from "commander";
import { ConfigError, readEnvironment, readServeConfig } from "../config/config.ts";
import { secretsIn } from "../config/secrets.ts";
import { createLogger } from "../log.ts";
import type { Findings } from "../postgres/start-checks.ts";
import { outputFor } from "./output.ts";

/** `doctor`: what would keep `serve` from starting. */
export function addDoctorCommand(program: Command): void {
  program
    .command("doctor")
    .description(
      "checks the configuration and the outside world, and says what to do about each problem and what is unwise; exit code 1 when there is a problem",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => {
      const { problems, warnings } = await findProblems();
      const output = outputFor(options.json ?? false);
      if (options.json) output.record({ ok: problems.length === 0, problems, warnings });
      else if (problems.length + warnings.length === 0) output.record({ doctor: "everything is fine" });
      else {
        for (const problem of problems) process.stdout.write(`- ${problem}\n`);
        for (const warning of warnings) process.stdout.write(`- warning: ${warning}\n`);
      }
      if (problems.length > 0) process.exitCode = 1;
    });
}

async function findProblems(): Promise<Findings> {
  try {
    const { checkWorld } = await import("../start-checks.ts");
    const config = readServeConfig(readEnvironment());
    return await checkWorld(config, createLogger("error", { secrets: secretsIn(config) }));
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems, warnings: [] };
    throw error;
  }
}
