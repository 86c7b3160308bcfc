import process from "node:process";
import { InvalidArgumentError, Option, type Command } from "commander";
import { KEY_PURPOSES, type KeyPurpose, type SealingKeyVersion } from "../app/operations/operator-actions.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./command.ts";

interface ChangeOptions {
  for: KeyPurpose;
  json?: boolean;
}

/** `sealing-keys list | rotate | retire` */
export function addSealingKeyCommands(program: Command): void {
  const keys = program
    .command("sealing-keys")
    .description("manages the secrets that seal quotes, and sign API keys and x402 receipts");
  const purpose = () => new Option("--for <what>", "what the secret is for").choices(KEY_PURPOSES);

  keys
    .command("list")
    .description("lists the versions, newest first, and why each is still needed; shows no secret")
    .addOption(purpose())
    .option("--json", "print JSON lines")
    .action(async (options: { for?: KeyPurpose; json?: boolean }) => {
      const list = await withPostgres((postgres) => postgres.sealingKeyAdmin.list(options.for));
      outputFor(options.json ?? false).table(list.map(versionRecord));
    });

  keys
    .command("rotate")
    .description("adds a version; every instance uses it 10 s later and still accepts the old ones")
    .addOption(purpose().default("quotes"))
    .option("--now", "after a leak: use it at once")
    .option("--json", "print JSON")
    .action(async (options: ChangeOptions & { now?: boolean }) => {
      const rotation = { purpose: options.for, now: options.now ?? false };
      const made = await withPostgres((postgres) => postgres.sealingKeyAdmin.rotate(rotation));
      outputFor(options.json ?? false).record(versionRecord(made));
    });

  keys
    .command("retire")
    .description("deletes an old version; needs the role that owns the schema")
    .addOption(purpose().default("quotes"))
    .requiredOption("--key <version>", "version of the secret", version)
    .option("--force", "also while it is needed: its quotes, API keys or receipts become invalid")
    .option("--json", "print JSON")
    .action(async (options: ChangeOptions & { key: number; force?: boolean }) => {
      const retirement = { purpose: options.for, version: options.key, force: options.force ?? false };
      const retired = await withPostgres((postgres) => postgres.sealingKeyAdmin.retire(retirement));
      outputFor(options.json ?? false).record({ ...versionRecord(retired), state: "retired" });
      if (retired.neededFor !== undefined && !options.json)
        process.stderr.write(`It was still needed: ${retired.neededFor}.\n`);
    });
}

function versionRecord(version: SealingKeyVersion): Record<string, unknown> {
  return {
    for: version.purpose,
    version: version.version,
    state: version.state,
    active_from: version.activeFrom,
    created_at: version.createdAt,
    needed_for: version.neededFor ?? null,
  };
}

function version(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1)
    throw new InvalidArgumentError("must be the number of a version");
  return Number(text);
}
