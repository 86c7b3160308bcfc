import process from "node:process";
import type { Command } from "commander";
import { ConfigError } from "../config/config.ts";
import { formatUsdc } from "../domain/money.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

/** `treasury show` */
export function addTreasuryCommands(program: Command): void {
  program
    .command("treasury")
    .description("operator's look at the treasury")
    .command("show")
    .description(
      "shows what the treasury's token account must hold by the books, how far its movements are recorded, and what lies in suspense; needs TREASURY_OWNER, or a running dev",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => show(options.json ?? false));
}

async function show(json: boolean): Promise<void> {
  await withPostgres(async ({ treasuryBooks }, { TREASURY_OWNER: owner }) => {
    if (owner === undefined) throw new ConfigError(["TREASURY_OWNER: is not set; treasury show needs it"]);
    const { treasuryOf } = await import("../solana/treasury.ts");
    const { tokenAccount } = treasuryOf(owner);
    const [watch, suspended] = await Promise.all([treasuryBooks.watch(tokenAccount), treasuryBooks.suspended()]);
    outputFor(json).record({
      token_account: tokenAccount,
      opening_usdc: watch === undefined ? null : formatUsdc(watch.opening),
      expected_usdc: watch === undefined ? null : formatUsdc(watch.expected),
      slot: watch?.slot ?? null,
      looked_at: watch?.lookedAt ?? null,
      suspense_count: suspended.count,
      suspense_usdc: formatUsdc(suspended.amount),
    });
    if (watch === undefined) process.stderr.write("This account is not watched yet: serve begins to.\n");
  });
}
