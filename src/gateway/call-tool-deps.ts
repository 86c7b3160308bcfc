import type { CallToolDeps } from "../app/call-tool.ts";
import { Catalogue } from "../app/catalogue.ts";
import type { ServeConfig } from "../config/config.ts";
import type { ChatModels } from "../domain/chat.ts";
import { Quotes } from "../domain/quote.ts";
import type { Postgres } from "../postgres/index.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import { makeTools } from "../tools/index.ts";
import { VERSION } from "../version.ts";

/**
 * What calls work with.
 * @param stopping aborts when a shutdown's grace period ends
 */
export async function callToolDeps(
  config: ServeConfig,
  postgres: Postgres,
  chain: SolanaChain,
  stopping: AbortSignal,
): Promise<CallToolDeps> {
  const { prices, upstreams } = config;
  const inference = upstreams.length === 0 ? undefined : await openModels(upstreams);
  const balance = (accountId: string) => postgres.ledger.balance(accountId);
  return {
    catalogue: new Catalogue(makeTools({ version: VERSION, balance, prices, inference })),
    ledger: postgres.ledger,
    // A call that waits for its transaction has run nothing yet: it ends with the grace period.
    chain: {
      verify: ({ txSignature, signal }) => chain.verify({ txSignature, signal: AbortSignal.any([signal, stopping]) }),
    },
    quotes: new Quotes(postgres.sealingKeys, systemClock, systemRandom, config.QUOTE_TTL_SECONDS),
    clock: systemClock,
    random: systemRandom,
    memoPrefix: config.MEMO_PREFIX,
    finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
    stopping,
  };
}

/** Imported only where there is something to open: the client library is the dearest import of a start. */
async function openModels(upstreams: ServeConfig["upstreams"]): Promise<ChatModels> {
  const { UpstreamModels } = await import("../inference/upstream-models.ts");
  return UpstreamModels.open(upstreams, AbortSignal.timeout(15_000));
}
