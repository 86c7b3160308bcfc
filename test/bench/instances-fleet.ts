import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { DatabaseProcesses } from "./cost-processes.ts";
import type { LoadProcess } from "./load.ts";
import type { LoadJob } from "./load-messages.ts";
import { machineCpuSeconds } from "./machine.ts";
import type { ServedGateway } from "./world.ts";

/** How long a round waits for the first answers beyond its own time, ms. */
const PATIENCE_MS = 20_000;

/** Requests to a fleet. */
export interface FleetJob extends Pick<LoadJob, "requests" | "expect"> {
  /** Instances with load; the others idle. */
  readonly instances: number;
  /** Calls under way at once, over all instances. */
  readonly connections: number;
}

/** Results of one instance. */
interface Share {
  readonly perSecond: number;
  readonly p99Ms: number | undefined;
}

/** Sum of one round. */
export interface FleetRate {
  readonly perSecond: number;
  readonly shares: readonly Share[];
  /** CPU time of all gateways per call, microseconds. */
  readonly gatewayMicros: number;
  /** CPU time of all of PostgreSQL's processes per call, microseconds; undefined where it is not measured. */
  readonly databaseMicros: number | undefined;
  /** CPU time of other processes per call, microseconds: normally the load generators. */
  readonly restMicros: number;
  /** Cores that were at work. */
  readonly busyCores: number;
}

interface Member {
  readonly gateway: ServedGateway;
  readonly load: LoadProcess;
}

/** Several gateways, each with its own load generator. */
export class Fleet {
  readonly gateways: readonly ServedGateway[];
  readonly #members: readonly Member[];
  readonly #database: DatabaseProcesses | undefined;
  readonly #bench: Bench;

  private constructor(
    bench: Bench,
    gateways: readonly ServedGateway[],
    database: DatabaseProcesses | undefined,
  ) {
    this.#bench = bench;
    this.gateways = gateways;
    this.#members = gateways.map((gateway) => ({ gateway, load: bench.load("http") }));
    this.#database = database;
  }

  /** Starts one for each address of a database, all on one server. They end with the benchmark. */
  static async start(bench: Bench, databaseUrls: readonly string[]): Promise<Fleet> {
    const { world } = bench;
    const gateways = await Promise.all(databaseUrls.map((databaseUrl) => world.serve({ databaseUrl })));
    return new Fleet(bench, gateways, await DatabaseProcesses.find(databaseUrls[0] ?? ""));
  }

  /**
   * Runs one round with the same number of connections per instance.
   * @returns the measurement, and all answered calls including the warm-up
   */
  async measure({
    instances,
    connections,
    requests,
    expect,
  }: FleetJob): Promise<{ rate: FleetRate; answered: number }> {
    const { plan, signal } = this.#bench;
    const members = this.#members.slice(0, instances);
    const each = Math.max(1, Math.floor(connections / instances));
    await Promise.all(
      members.map(({ gateway, load }, index) =>
        load.start({
          ...{ host: "127.0.0.1", port: gateway.httpPort, connections: each, expect },
          // Each begins with another account, so that the instances meet at the accounts in no order.
          requests: rotated(requests, Math.floor((index * requests.length) / instances)),
        }),
      ),
    );
    await sleep(plan.warmUpMs, undefined, { signal });
    const before = await this.#sample(members);
    const patience = performance.now() + plan.windowMs + PATIENCE_MS;
    let after = before;
    // A round without an answer of some instance continues until there is one.
    while (after.samples.some(({ answers }, index) => answers === before.samples[index]?.answers)) {
      if (performance.now() > patience) throw new Error("an instance answered nothing in a whole round");
      await sleep(plan.windowMs, undefined, { signal });
      after = await this.#sample(members);
    }
    await Promise.all(members.map(({ load }) => load.pause()));
    const all = await Promise.all(members.map(({ load }) => load.sample()));
    return { rate: rateOf(before, after), answered: all.reduce((total, { answers }) => total + answers, 0) };
  }

  async #sample(members: readonly Member[]): Promise<FleetSample> {
    const [samples, cpu, database] = await Promise.all([
      Promise.all(members.map(({ load }) => load.sample())),
      Promise.all(members.map(({ gateway }) => gateway.server.cpuSeconds())),
      this.#database?.cpuSeconds(),
    ]);
    const gatewaySeconds = cpu.reduce((total, seconds) => total + seconds, 0);
    return { samples, gatewaySeconds, databaseSeconds: database, machineSeconds: machineCpuSeconds() };
  }
}

interface FleetSample {
  readonly samples: readonly Awaited<ReturnType<LoadProcess["sample"]>>[];
  readonly gatewaySeconds: number;
  readonly databaseSeconds: number | undefined;
  readonly machineSeconds: number;
}

function rateOf(before: FleetSample, after: FleetSample): FleetRate {
  let [answers, elapsedMs] = [0, 0];
  const shares = after.samples.map(({ answers: until, atMs, p99Ms }, index): Share => {
    const { answers: from = 0, atMs: since = 0 } = before.samples[index] ?? {};
    answers += until - from;
    elapsedMs = Math.max(elapsedMs, atMs - since);
    return { perSecond: (until - from) / ((atMs - since) / 1000), p99Ms };
  });
  const micros = (seconds: number) => (seconds * 1_000_000) / answers;
  const gatewayMicros = micros(after.gatewaySeconds - before.gatewaySeconds);
  const databaseMicros =
    before.databaseSeconds === undefined || after.databaseSeconds === undefined
      ? undefined
      : micros(after.databaseSeconds - before.databaseSeconds);
  const machineSeconds = after.machineSeconds - before.machineSeconds;
  return {
    perSecond: shares.reduce((total, { perSecond }) => total + perSecond, 0),
    ...{ shares, gatewayMicros, databaseMicros },
    restMicros: micros(machineSeconds) - gatewayMicros - (databaseMicros ?? 0),
    busyCores: machineSeconds / (elapsedMs / 1000),
  };
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  return [...items.slice(by), ...items.slice(0, by)];
}
