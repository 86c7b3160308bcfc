import { setTimeout as sleep } from "node:timers/promises";
import type { LoadJob, LoadProcess, LoadReport } from "./load/load-process.ts";

/** How long and how often is measured. */
export interface Plan {
  readonly rounds: number;
  /** Measured time of a round, ms. */
  readonly windowMs: number;
  /** Load before that, ms. */
  readonly warmUpMs: number;
  /** Whether only to show that the benchmark works: small data, no durable commits. */
  readonly quick: boolean;
}

export const FULL: Plan = { rounds: 5, windowMs: 2_500, warmUpMs: 700, quick: false };
export const QUICK: Plan = { rounds: 1, windowMs: 100, warmUpMs: 20, quick: true };

/** Timeout of a round's first answer beyond its own time, ms. */
const PATIENCE_MS = 20_000;

/** What a round measures, per call where it is not said. */
export type Figure = "perSecond" | "cpuMicros" | "databaseMicros" | "totalMicros" | "p50Ms" | "p99Ms";
/** One side in one round. CPU: of the servers, of PostgreSQL, of both; undefined: not measured. */
export type Rate = { readonly [figure in Figure]?: number | undefined };
/** Both sides in one round, measured one after the other. */
export interface Round {
  readonly gateway: Rate;
  readonly peer: Rate;
}
/** One side of a comparison: measures itself once. */
export type Side = () => Promise<Rate>;

/** Measures both sides in turn and alternates the order, so that other load affects both equally. */
export async function compare(gateway: Side, peer: Side, { rounds }: Plan): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const ours = await gateway();
      measured.push({ gateway: ours, peer: await peer() });
    } else {
      const theirs = await peer();
      measured.push({ gateway: await gateway(), peer: theirs });
    }
  }
  return measured;
}

export interface Loaded {
  readonly server: { cpuSeconds(): Promise<number> };
  readonly port: number;
  readonly load: LoadProcess;
}

/** Servers that share the connections of a job. The generators count calls, the processes their CPU time. */
export function loaded(
  members: readonly Loaded[],
  { connections, ...job }: Omit<LoadJob, "host" | "port">,
  { plan, signal, databaseCpu }: Conditions,
): Side {
  const sample = async (): Promise<Sample> => {
    const [reports, cpu, database] = await Promise.all([
      Promise.all(members.map(({ load }) => load.sample())),
      Promise.all(members.map(({ server }) => server.cpuSeconds())),
      databaseCpu(),
    ]);
    return { reports, cpu: cpu.reduce((sum, seconds) => sum + seconds, 0), database };
  };
  return async () => {
    const each = Math.max(1, Math.floor(connections / members.length));
    await Promise.all(
      members.map(({ load, port }) => load.start({ ...job, host: "127.0.0.1", port, connections: each })),
    );
    await sleep(plan.warmUpMs, undefined, { signal });
    const before = await sample();
    const answers: number[] = before.reports.map(() => 0);
    const patience = performance.now() + plan.windowMs + PATIENCE_MS;
    let after = before;
    // A round without an answer continues until there is one.
    while (answers.includes(0)) {
      if (performance.now() > patience) throw new Error("nothing was answered in a whole round");
      await sleep(plan.windowMs, undefined, { signal });
      after = await sample();
      for (const [at, report] of after.reports.entries())
        answers[at] = report.answers - (before.reports[at]?.answers ?? 0);
    }
    await Promise.all(members.map(({ load }) => load.pause()));
    return rateOf(before, after);
  };
}

/** What all sides of a part have in common. */
export interface Conditions {
  readonly plan: Plan;
  readonly signal: AbortSignal;
  /** CPU time of PostgreSQL up to now, seconds; undefined where it cannot be measured. */
  databaseCpu(): Promise<number | undefined>;
}

interface Sample {
  readonly reports: readonly LoadReport[];
  readonly cpu: number;
  readonly database: number | undefined;
}

function rateOf(before: Sample, after: Sample): Rate {
  let [answers, perSecond] = [0, 0];
  for (const [at, report] of after.reports.entries()) {
    const since = before.reports[at] ?? report;
    answers += report.answers - since.answers;
    perSecond += (report.answers - since.answers) / ((report.atMs - since.atMs) / 1000);
  }
  const cpuMicros = ((after.cpu - before.cpu) * 1_000_000) / answers;
  const databaseMicros = microsOf(before.database, after.database, answers);
  return {
    ...{ perSecond, cpuMicros, databaseMicros },
    totalMicros: databaseMicros === undefined ? undefined : cpuMicros + databaseMicros,
    p50Ms: median(after.reports.flatMap(({ p50Ms }) => p50Ms ?? [])),
    p99Ms: Math.max(...after.reports.flatMap(({ p99Ms }) => p99Ms ?? [])),
  };
}

/** Microseconds a call between two readings in seconds. */
export function microsOf(before: number | undefined, after: number | undefined, calls: number) {
  return before === undefined || after === undefined ? undefined : ((after - before) * 1_000_000) / calls;
}

/** The middle value, or the mean of the middle two; undefined of nothing. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const high = sorted[Math.floor(sorted.length / 2)];
  const low = sorted[Math.ceil(sorted.length / 2) - 1];
  return high === undefined || low === undefined ? undefined : (low + high) / 2;
}
