import type { LoadProcess } from "./load.ts";
import type { Plan } from "./measure.ts";
import type { Line } from "./report.ts";
import type { ServerProcess, StartOptions } from "./server-process.ts";
import type { ServedGateway, World } from "./world.ts";

/** What every part of the benchmark works with. */
export interface Bench {
  readonly world: World;
  readonly gateway: ServedGateway;
  readonly plan: Plan;
  readonly scale: Scale;
  readonly signal: AbortSignal;
  /** A load generator; ended with the benchmark. */
  load(kind: "http" | "grpc"): LoadProcess;
  /** A bare server to compare with; ended with the benchmark. @returns it and its port */
  peer(file: string, options: StartOptions): Promise<{ server: ServerProcess; port: number }>;
}

/** How large things are. */
export interface Scale {
  /** How many "many accounts" are. */
  readonly accounts: number;
  /** Calls under way at once, one measurement each. */
  readonly connections: readonly number[];
  /** How many transfers the ledger has that is audited. */
  readonly transfers: number;
  /** How many executions of the sandbox follow on each other. */
  readonly executions: number;
}

/** One part of the benchmark. */
export type Part = (bench: Bench) => Promise<Line[]>;
