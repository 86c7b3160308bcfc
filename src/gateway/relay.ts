import { CountedRelayClaims } from "../app/payments/gasless/counted-relay-claims.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ChainLookupLimit } from "../app/payments/chain-lookup-limit.ts";
import { GaslessRelay } from "../app/payments/gasless/relay.ts";
import type { Sponsor } from "../app/payments/gasless/sponsor.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { SolanaRelayChain, type SolanaChain } from "../solana/index.ts";
import { systemClock } from "../system.ts";

/** Dependencies of the relay. */
export interface RelayParts {
  readonly config: ServeConfig;
  /** Undefined without a fee payer: gasless is off. */
  readonly sponsor: Sponsor | undefined;
  readonly postgres: Postgres;
  readonly chain: SolanaChain;
  readonly proofs: ChainLookupLimit;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Aborts when a shutdown's grace period ends. */
  readonly stopping: AbortSignal;
}

/** The gasless relay and the chain access of its background jobs. */
export interface OpenRelay {
  readonly relay: GaslessRelay;
  readonly chain: SolanaRelayChain;
}

/** Creates the gasless relay; undefined when it is off. */
export function openRelay({ config, sponsor, postgres, chain, ...rest }: RelayParts): OpenRelay | undefined {
  if (!sponsor) return undefined;
  // 0 while gasless is off: then nothing can be low.
  rest.metrics.set("toolgate_fee_payer_low_lamports", config.GASLESS_LOW_LAMPORTS);
  rest.metrics.set("toolgate_relay_lamports_limit", config.GASLESS_DAILY_LAMPORTS);
  const relayChain = new SolanaRelayChain(chain.rpc);
  const relay = new GaslessRelay({
    sponsor,
    claims: new CountedRelayClaims(postgres.relays, rest.metrics),
    chain: relayChain,
    clock: systemClock,
    limits: {
      dailyLamports: BigInt(config.GASLESS_DAILY_LAMPORTS),
      perAccountHourly: config.GASLESS_PER_ACCOUNT_HOURLY,
      failuresHourly: config.GASLESS_FAILURES_HOURLY,
    },
    minimum: BigInt(config.GASLESS_MINIMUM_MICROUSD),
    waitMs: config.PAYMENT_WAIT_MS,
    lookupLimit: rest.proofs,
    log: rest.log,
    stopping: rest.stopping,
  });
  return { relay, chain: relayChain };
}
