import { Facilitator, type FacilitatorDeps } from "../app/payments/facilitator.ts";
import type { FacilitatingRelay } from "../app/payments/gasless/relay-port.ts";
import type { ServeConfig } from "../config/config.ts";
import type { SolanaChain } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";

interface FacilitatorParts extends Pick<FacilitatorDeps, "metrics"> {
  readonly config: ServeConfig;
  readonly relay: FacilitatingRelay | undefined;
  readonly chain: Pick<SolanaChain, "treasury">;
}

/** The facilitator of the operator's other services; undefined when it or the relay is off. */
export function facilitatorOf({ config, relay, chain, metrics }: FacilitatorParts): Facilitator | undefined {
  if (!relay || config.FACILITATOR === "off") return undefined;
  const { treasury } = chain;
  return new Facilitator({ relay, treasury, clock: systemClock, random: systemRandom, metrics });
}
