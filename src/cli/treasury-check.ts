import { ConfigError, type Config } from "../config/config.ts";
import { collectSecrets } from "../config/secrets.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import { systemClock } from "../system.ts";
import { CommandError } from "./command-error.ts";

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

/** One line of the audit report: ledger against chain. */
export interface TreasuryCheck {
  invariant: "treasury_matches_chain";
  checked: bigint;
  violations: bigint;
  description: string;
  chain_usdc: string;
  ledger_usdc: string;
  /** Chain minus ledger. */
  difference_usdc: string;
}

/**
 * Checks that the treasury's token account holds at least the expected balance. More is fine: movements are
 * recorded once final. Less means that a credited deposit is not on the chain, or that a withdrawal is not
 * recorded yet.
 * @throws ConfigError without SOLANA_RPC_URLS and TREASURY_OWNER; CommandError when the account or all
 * endpoints are unavailable
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
    import("../postgres/treasury/expected-treasury-balance.ts"),
    import("../solana/index.ts"),
    import("../solana/treasury/treasury-balance.ts"),
    import("../solana/rpc/rpc-failure.ts"),
  ]);
  const log = createLogger("error", { secrets: collectSecrets(config) });
  const rules = { memoPrefix: config.MEMO_PREFIX, waitMs: 0, finalizedAbove: 0n, clock: systemClock, log };
  const { rpc, treasury } = openChain({ urls, treasuryOwner, ...rules });
  // Reads the ledger first: a deposit credited after that is already on the chain.
  const ledger = await expectedTreasuryBalance(config.DATABASE_URL);
  const chain = await treasuryBalance(rpc, treasury, AbortSignal.timeout(LIMIT_MS)).catch(
    (error: unknown) => {
      if (error instanceof ToolgateError && error.code === "UNAVAILABLE")
        throw new CommandError(
          "Cannot read the treasury: no endpoint of SOLANA_RPC_URLS responds; " +
            "audit without --chain checks the ledger alone.",
          { cause: error },
        );
      if (!(error instanceof RpcError)) throw error;
      throw new CommandError(
        `Cannot read the treasury's account ${treasury.tokenAccount} (${error.message}): ` +
          "check TREASURY_OWNER.",
        { cause: error },
      );
    },
  );
  return {
    invariant: "treasury_matches_chain",
    checked: 1n,
    violations: chain < ledger ? 1n : 0n,
    description:
      `the treasury holds at least the ledger's balance: ` +
      `${formatUsdc(chain)} on the chain, ${formatUsdc(ledger)} in the ledger`,
    chain_usdc: formatUsdc(chain),
    ledger_usdc: formatUsdc(ledger),
    difference_usdc: formatUsdc(chain - ledger),
  };
}
