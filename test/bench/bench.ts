import { z } from "zod";
import { LoadProcess, type LoadJob } from "./load/load-process.ts";
import { loaded, type Conditions, type Plan, type Side } from "./measure.ts";
import type { Line } from "./report.ts";
import { ServerProcess } from "./server-process.ts";
import type { ServedGateway, ServeOptions, World } from "./world.ts";

const peerReady = z.object({ port: z.int() });

/** A comparison of the gateway with what people would use instead. */
export interface Part {
  readonly name: string;
  readonly title: string;
  /** Whom it matters to, and why. */
  readonly why: string;
  readonly run: (bench: Bench) => Promise<Line[]>;
}

export interface Target {
  readonly server: ServerProcess;
  readonly port: number;
}

/** What a part measures with. Everything that it starts ends with it. */
export class Bench implements Conditions {
  readonly world: World;
  readonly plan: Plan;
  readonly signal: AbortSignal;
  readonly databaseCpu: World["databaseCpu"];
  readonly #profile: string | undefined;
  readonly #started: { stop(): Promise<void> }[] = [];

  /** @param profile folder for CPU profiles of its gateways */
  constructor(world: World, plan: Plan, signal: AbortSignal, profile: string | undefined) {
    this.world = world;
    this.plan = plan;
    this.signal = signal;
    this.databaseCpu = world.databaseCpu;
    this.#profile = profile;
  }

  async serve(options: ServeOptions = {}): Promise<ServedGateway> {
    const gateway = await this.world.serve({ profile: this.#profile, ...options });
    this.#started.push(gateway.server);
    return gateway;
  }

  async peer(name: string, ...args: string[]): Promise<Target> {
    const server = await ServerProcess.start(`test/bench/peers/${name}.ts`, { args });
    this.#started.push(server);
    return { server, port: peerReady.parse(server.ready).port };
  }

  load(kind: "http" | "grpc" = "http"): LoadProcess {
    const load = new LoadProcess(kind);
    this.#started.push(load);
    return load;
  }

  /** Servers under load over HTTP, each by a generator of its own. */
  side(targets: Target | readonly Target[], job: Omit<LoadJob, "host" | "port">): Side {
    const all = "port" in targets ? [targets] : targets;
    return loaded(
      all.map((target) => ({ ...target, load: this.load() })),
      job,
      this,
    );
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#started.map((each) => each.stop()));
  }
}
