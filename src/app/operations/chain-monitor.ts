import type { MicroUsd } from "../../domain/core/money.ts";

export interface EndpointStatus {
  /** Host and port only: the rest of the URL may contain a secret. */
  host: string;
  /** Confirmed slot; undefined when the endpoint did not answer. */
  slot: bigint | undefined;
  /** Response time, ms; undefined when the endpoint did not answer. */
  latencyMs: number | undefined;
  /** Failure without text from the endpoint; undefined when it answered. */
  problem: string | undefined;
}

export interface ChainStatus {
  /** In configuration order. */
  endpoints: EndpointStatus[];
  /** Finalized balance of the treasury, micro-USD; undefined when no endpoint answers. */
  held: MicroUsd | undefined;
  /** Balance of the fee payer, lamports; undefined when no endpoint answers or no fee payer is set. */
  lamports: bigint | undefined;
}

/** Checks all endpoints concurrently. */
export interface ChainMonitor {
  /** Takes seconds at most and never rejects: failures are reported per endpoint. */
  check(feePayer: string | undefined): Promise<ChainStatus>;
}
