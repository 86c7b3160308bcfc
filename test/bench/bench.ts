import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import type { Plan, Side } from "./measure.ts";
import type { Line } from "./report.ts";
import type { Scale } from "./scale.ts";
import type { ServerProcess, StartOptions } from "./server-process.ts";
import type { ServedGateway, World } from "./world.ts";

/** Context of a benchmark part. */
export interface Bench {
  readonly world: World;
  /** Started for this part alone; in the short form, parts share one. */
  readonly gateway: ServedGateway;
  /** The superuser's connection string of its database. */
  readonly databaseUrl: string;
  readonly plan: Plan;
  readonly scale: Scale;
  readonly signal: AbortSignal;
  /** Folder for the CPU profile of a gateway that the part starts itself; undefined where none is wanted. */
  readonly profile: string | undefined;
  /** A load generator; ended with the part. */
  load(kind: "http" | "grpc"): LoadProcess;
  /** A server under load by wrk, or by the generator on Node where wrk is missing. */
  http(target: HttpTarget, job: HttpJob): Side;
  /** A bare server to compare with; ended with the part. @returns it and its port */
  peer(file: string, options: StartOptions): Promise<{ server: ServerProcess; port: number }>;
}

/** A server under HTTP load. */
export interface HttpTarget {
  readonly server: ServerProcess;
  readonly port: number;
}

/** HTTP load. */
export interface HttpJob extends Pick<LoadJob, "connections" | "requests" | "expect"> {
  /** False where a database works beside them: otherwise wrk and the server get a core each. */
  readonly pinned?: false;
}

/** One part of the benchmark. */
export interface Part {
  /** Name for `--only`. */
  readonly name: string;
  /** Heading of its tables and plots. */
  readonly title: string;
  /** Whether it loads the given gateway over one protocol, so that --profile includes it by default. */
  readonly loadsSharedGateway?: true;
  /** Settings of its gateway; a shared gateway has those of all its parts. */
  readonly settings?: (world: World) => Readonly<Record<string, string>>;
  /** Whether --quick runs it. */
  readonly quick?: true;
  /** Whether it loads a gateway that it starts itself, which is the one to be profiled. */
  readonly ownGateway?: true;
  /** Whether it needs its own database and gateway. */
  readonly ownDatabase?: true;
  readonly run: (bench: Bench) => Promise<Line[]>;
}
