import process from "node:process";
import { Command, CommanderError } from "commander";
import { ConfigError } from "../config/config.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { MissingPackagesError } from "../optional-packages.ts";
import { VERSION } from "../version.ts";
import { addAccountCommands } from "./accounts.ts";
import { addAfterRestoreCommand } from "./after-restore.ts";
import { CommandError } from "./command.ts";
import { addArchiveCommands } from "./archive.ts";
import { addCellCommands, addFleetCommands } from "./cells.ts";
import { addConfigCommands } from "./configuration.ts";
import { addDevCommand } from "./dev.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addKeyCommands } from "./keys.ts";
import { addFindCommand, addReceiptCommands } from "./find.ts";
import { addAuditCommand } from "./audit.ts";
import { addLedgerCommands } from "./ledger.ts";
import { addOperationsCommands } from "./operations.ts";
import { addPayCommand } from "./pay.ts";
import { addSealingKeyCommands } from "./sealing-keys.ts";
import { addServeCommand } from "./serve.ts";
import { addSignInCommands } from "./sign-in.ts";
import { addSuspenseCommands, addTreasuryCommands } from "./treasury.ts";
import { addToolCommands } from "./try-tool.ts";

/** Each command imports its dependencies when it runs, so that the others start fast. */
const COMMANDS = [
  addDevCommand,
  addServeCommand,
  addLedgerCommands,
  addAuditCommand,
  addArchiveCommands,
  addAccountCommands,
  addKeyCommands,
  addSealingKeyCommands,
  addReceiptCommands,
  addSuspenseCommands,
  addTreasuryCommands,
  addOperationsCommands,
  addFindCommand,
  addConfigCommands,
  addCellCommands,
  addFleetCommands,
  addToolCommands,
  addPayCommand,
  addSignInCommands,
  addAfterRestoreCommand,
  addDoctorCommand,
];

/** Runs a command. Exit code 1: the command failed; 2: wrong arguments or configuration. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const program = new Command("toolgate")
    .description("A gateway that sells tool calls to software agents.")
    .version(VERSION);
  program.showHelpAfterError("(see --help)");
  program.exitOverride();
  for (const add of COMMANDS) add(program);
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ConfigError) {
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  if (error instanceof CommandError || error instanceof MissingPackagesError) {
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  const text =
    error instanceof ToolgateError
      ? `${error.code}: ${error.message}`
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`${text}\n`);
  return 1;
}
