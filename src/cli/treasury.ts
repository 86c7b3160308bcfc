import process from "node:process";
import type { Command } from "commander";
import { ConfigError, type Config } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import { systemClock } from "../system.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

/** `treasury show` */
export function addTreasuryCommands(program: Command): void {
  program
    .command("treasury")
    .description("shows the treasury")
    .command("show")
    .description(
      "shows the expected treasury balance, the last recorded slot, suspense, and the fee payer's balance; " +
        "needs TREASURY_OWNER, or a running dev",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => show(options.json ?? false));
}

async function show(json: boolean): Promise<void> {
  await withPostgres(async ({ treasuryLedger: treasuryBooks, relays }, config) => {
    const { TREASURY_OWNER: owner } = config;
    if (owner === undefined) throw new ConfigError(["TREASURY_OWNER: is not set; treasury show needs it"]);
    const { treasuryOf } = await import("../solana/core/treasury.ts");
    const { tokenAccount } = treasuryOf(owner);
    const [watch, suspended, relayed, feePayer] = await Promise.all([
      treasuryBooks.watch(tokenAccount),
      treasuryBooks.suspended(),
      relays.spentToday(),
      feePayerOf({ ...config, TREASURY_OWNER: owner }),
    ]);
    outputFor(json).record({
      token_account: tokenAccount,
      opening_usdc: watch === undefined ? null : formatUsdc(watch.opening),
      expected_usdc: watch === undefined ? null : formatUsdc(watch.expected),
      slot: watch?.slot ?? null,
      looked_at: watch?.checkedAt ?? null,
      suspense_count: suspended.count,
      suspense_usdc: formatUsdc(suspended.amount),
      fee_payer: feePayer?.address ?? null,
      fee_payer_lamports: feePayer?.lamports ?? null,
      relay_lamports_today: relayed,
    });
    if (watch === undefined)
      process.stderr.write("This account is not watched yet: serve starts the watch.\n");
  });
}

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

/**
 * Returns the relay's fee payer and balance; undefined when gasless is off. Failures leave the balance
 * undefined.
 */
async function feePayerOf(config: Config & { TREASURY_OWNER: string }) {
  const { openSponsor } = await import("../gateway/fee-payer.ts");
  const { SOLANA_RPC_URLS: urls = [] } = config;
  try {
    const sponsor = await openSponsor(config);
    if (!sponsor) return undefined;
    if (urls.length === 0) return { address: sponsor.feePayer, lamports: undefined };
    const [{ SolanaRelayChain }, { SolanaRpc }] = await Promise.all([
      import("../solana/index.ts"),
      import("../solana/rpc/rpc.ts"),
    ]);
    const log = createLogger("error", { secrets: collectSecrets(config) });
    const chain = new SolanaRelayChain(new SolanaRpc(urls, { clock: systemClock, log, attemptMs: 3_000 }));
    const lamports = await chain
      .balance(sponsor.feePayer, AbortSignal.timeout(LIMIT_MS))
      .catch(() => undefined);
    if (lamports === undefined)
      process.stderr.write("No endpoint of SOLANA_RPC_URLS returned the fee payer's balance.\n");
    return { address: sponsor.feePayer, lamports };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.problems.join("\n")}\n`);
    return undefined;
  }
}
