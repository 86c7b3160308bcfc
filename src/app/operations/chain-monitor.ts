import type { MicroUsd } from "../../domain/core/money.ts";

/** How an endpoint of the chain is. */
export interface EndpointStatus {
  /** Host and port: the rest of its address may be a secret. */
  host: string;
  /** Confirmed; undefined when it did not answer. */
  slot: bigint | undefined;
  /** How long it took to answer, ms; undefined when it did not. */
  latencyMs: number | undefined;
  /** Why it did not answer, in words of this program alone; undefined when it did. */
  problem: string | undefined;
}

/** How the chain is. */
export interface ChainStatus {
  /** In the operator's order. */
  endpoints: EndpointStatus[];
  /** What the treasury's token account holds, finalized, micro-USD; undefined when no endpoint tells. */
  held: MicroUsd | undefined;
  /** What the fee payer holds, lamports; undefined when no endpoint tells, or none was asked for. */
  lamports: bigint | undefined;
}

/** Looks at every endpoint of the chain at once. */
export interface ChainMonitor {
  /** Never takes longer than seconds, and never fails: what cannot be told is a problem of its endpoint. */
  check(feePayer: string | undefined): Promise<ChainStatus>;
}
