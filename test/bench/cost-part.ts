import { z } from "zod";
import type { Bench } from "./bench.ts";
import { costJobs, type CostJob } from "./cost-jobs.ts";
import { costLines } from "./cost-lines.ts";
import { batchesSince, counters, mark, type Batches, type Counters } from "./cost-database.ts";
import { Fleet, type FleetRate } from "./instances-fleet.ts";
import type { Line } from "./report.ts";

/** Cost of a kind of call in one or several rounds. */
export interface Cost {
  readonly job: CostJob;
  readonly rates: readonly FleetRate[];
  readonly batches: readonly Batches[];
  /** Answered calls, and the server's counters over the same time. */
  readonly answered: number;
  readonly before: Counters;
  readonly after: Counters;
}

/** Measures CPU, disk and network use per kind of call, for docs/explanation/scaling.md. */
export async function cost(bench: Bench): Promise<Line[]> {
  const { world, scale, signal } = bench;
  const url = await world.createDatabase("cost");
  const keys = await world.createAccounts(scale.accounts, "1000000", url);
  const [poor = ""] = await world.createAccounts(1, undefined, url);
  const fleet = await Fleet.start(bench, [url]);
  const port = z.int().parse(fleet.gateways[0]?.httpPort);
  const jobs = await costJobs({ keys, poor, port, connections: scale.connections });
  // A process that has just started compiles while it works.
  for (const job of jobs) await fleet.measure(job);
  const costs: Cost[] = [];
  let before = await counters(url);
  for (const job of jobs) {
    signal.throwIfAborted();
    const measured = await costOf(bench, fleet, url, { job, before });
    costs.push(measured);
    before = measured.after;
  }
  return costLines(costs);
}

async function costOf(
  { plan }: Bench,
  fleet: Fleet,
  url: string,
  { job, before }: Pick<Cost, "job" | "before">,
): Promise<Cost> {
  const [rates, batches]: [FleetRate[], Batches[]] = [[], []];
  let answered = 0;
  // Counters from the first to the last call need no rounds, which absorb the machine's noise.
  for (let round = 0; round < plan.rounds; round++) {
    const since = await mark(url);
    const measured = await fleet.measure(job);
    answered += measured.answered;
    rates.push(measured.rate);
    batches.push(await batchesSince(url, since));
  }
  return { job, rates, batches, answered, before, after: await counters(url) };
}
