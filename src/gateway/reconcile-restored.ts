import { reconcileRestored } from "../app/jobs/reconciliation.ts";
import { newSettledTransactions } from "../app/jobs/record-history.ts";
import { type Config, collectSecrets } from "../config/config.ts";
import { cellOf } from "../domain/core/ids.ts";
import { SOLANA } from "../domain/payments/payment-id.ts";
import { Quotes } from "../domain/payments/quote.ts";
import { createLogger } from "../log.ts";
import { silentMetrics } from "../metrics/silent-metrics.ts";
import type { Postgres } from "../postgres/index.ts";
import { openChain, SolanaTreasury } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";

/** Longest reconciliation, ms: the whole history is read. */
const LIMIT_MS = 3_600_000;

export async function reconcileWithChain(
  postgres: Postgres,
  config: Config & { SOLANA_RPC_URLS: readonly string[]; TREASURY_OWNER: string },
) {
  const log = createLogger("warn", { secrets: collectSecrets(config) });
  const { SOLANA_RPC_URLS: urls, TREASURY_OWNER: treasuryOwner, MEMO_PREFIX: memoPrefix } = config;
  const finalizedAbove = BigInt(config.FINALIZED_ABOVE_MICROUSD);
  const rules = { memoPrefix, waitMs: 0, finalizedAbove, clock: systemClock, log };
  const chain = openChain({ urls, treasuryOwner, ...rules });
  const evidence = { rpc: chain.rpc, treasury: chain.treasury };
  try {
    const treasury = new SolanaTreasury({ ...evidence, memoPrefix, finalizedAbove, log });
    const deps = {
      chain: treasury,
      networks: new Map([[SOLANA, treasury]]),
      ledger: postgres.treasuryLedger,
      quotes: new Quotes(
        postgres.sealingKeys,
        systemClock,
        systemRandom,
        config.QUOTE_TTL_SECONDS,
        cellOf(config.CELL),
      ),
      deposits: postgres.deposits,
      events: postgres.webhooks.events,
      wallets: postgres.walletAccounts,
      settled: newSettledTransactions(),
      metrics: silentMetrics,
      clock: systemClock,
      memoPrefix,
      log,
    };
    return await reconcileRestored(deps, AbortSignal.timeout(LIMIT_MS));
  } finally {
    chain.close();
  }
}
