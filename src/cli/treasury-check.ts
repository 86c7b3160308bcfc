import { ConfigError, type Config } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { ToolgateError } from "../domain/errors.ts";
import { formatUsdc } from "../domain/money.ts";
import { createLogger } from "../log.ts";
import { systemClock } from "../system.ts";
import { CommandError } from "./command-error.ts";

/** Longest that the chain may take, ms. */
const LIMIT_MS = 15_000;

/** One line of the audit: the ledger against the chain. */
export interface TreasuryCheck {
  invariant: "treasury_matches_chain";
  checked: bigint;
  violations: bigint;
  description: string;
  chain_usdc: string;
  ledger_usdc: string;
  /** Chain less ledger. */
  difference_usdc: string;
}

/**
 * Whether the treasury's token account holds at least what the ledger says: what it held when its watch began, and what reached it and
 * neither left it again nor was reversed. It may hold more: movements are recorded once they are final. Less means that a deposit was
 * credited that the chain does not have, or that the treasury was spent from, which is recorded in a moment.
 * @throws ConfigError without SOLANA_RPC_URLS and TREASURY_OWNER; CommandError when there is no such token account, or no endpoint answers
 */
export async function checkTreasury(config: Config & { DATABASE_URL: string }): Promise<TreasuryCheck> {
  const { SOLANA_RPC_URLS: urls, TREASURY_OWNER: treasuryOwner } = config;
  if (urls === undefined || treasuryOwner === undefined) {
    const missing = (["SOLANA_RPC_URLS", "TREASURY_OWNER"] as const).filter(
      (name) => config[name] === undefined,
    );
    throw new ConfigError(missing.map((name) => `${name}: is not set; audit --chain needs it`));
  }
  const [{ expectedTreasuryBalance }, { openChain }, { treasuryBalance }, { RpcError }] = await Promise.all([
    import("../postgres/expected-treasury-balance.ts"),
    import("../solana/index.ts"),
    import("../solana/treasury-balance.ts"),
    import("../solana/rpc-failure.ts"),
  ]);
  const log = createLogger("error", { secrets: collectSecrets(config) });
  const rules = { memoPrefix: config.MEMO_PREFIX, waitMs: 0, finalizedAbove: 0n, clock: systemClock, log };
  const { rpc, treasury } = openChain({ urls, treasuryOwner, ...rules });
  // In this order: what is credited after the first look is on the chain before the second.
  const ledger = await expectedTreasuryBalance(config.DATABASE_URL);
  const chain = await treasuryBalance(rpc, treasury, AbortSignal.timeout(LIMIT_MS)).catch(
    (error: unknown) => {
      if (error instanceof ToolgateError && error.code === "UNAVAILABLE")
        throw new CommandError(
          "The treasury's token account cannot be read: no endpoint of SOLANA_RPC_URLS answers; audit without --chain checks the ledger alone.",
          { cause: error },
        );
      if (!(error instanceof RpcError)) throw error;
      throw new CommandError(
        `The treasury's token account ${treasury.tokenAccount} cannot be read (${error.message}): check TREASURY_OWNER.`,
        { cause: error },
      );
    },
  );
  return {
    invariant: "treasury_matches_chain",
    checked: 1n,
    violations: chain < ledger ? 1n : 0n,
    description: `the treasury holds at least what the ledger says: ${formatUsdc(chain)} on the chain, ${formatUsdc(ledger)} in the ledger`,
    chain_usdc: formatUsdc(chain),
    ledger_usdc: formatUsdc(ledger),
    difference_usdc: formatUsdc(chain - ledger),
  };
}
