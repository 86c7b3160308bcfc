import os from "node:os";
import { commitMs } from "./cost-database.ts";
import {
  withStolenTime,
  costThrough,
  freePerSecond,
  paidPerSecond,
  type Costs,
  type Site,
} from "./cost-model.ts";
import type { FleetRate } from "./instances-fleet.ts";
import { CONNECTIONS, titleOf, type Measured, type Scenario } from "./instances-scenarios.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

/** Tolerance of a prediction relative to the measurement. */
const ERROR = 0.25;
/**
 * Batches under way at an instance: two of beginnings, but of one account only one, and two of endings
 * (src/postgres/ledger/ledger.ts).
 */
const BATCHES = { many: 4, hot: 3, echo: 0 };
/** Commits that are timed. */
const COMMITS = 50;

/**
 * Predicts each scenario with the model of docs/explanation/scaling.md from the costs of a single instance.
 * Costs include the load generators; stolen processor time is excluded.
 */
export async function predictionLines(measured: readonly Measured[], url: string): Promise<Line[]> {
  const [paid, echo] = [alone(measured, "many"), alone(measured, "echo")];
  const usual = paid.find(({ scenario }) => scenario.connections === CONNECTIONS);
  if (!usual) throw new Error("one instance alone was not measured");
  const batchOf = ({ batches }: Measured) => median(batches) ?? Number.NaN;
  const [paidCosts, freeCosts] = [
    costsOf(paid, batchOf),
    costsOf(echo, ({ scenario }) => scenario.connections),
  ];
  const perBatch = CONNECTIONS / batchOf(usual);
  const machine = { cores: os.cpus().length, commitMs: await commitMs(url, COMMITS) };
  const reported =
    `${paidCosts.all.fixed.toFixed(2)} ms a call, ${paidCosts.all.perBatch.toFixed(1)} ms a batch, ` +
    `${machine.commitMs.toFixed(1)} ms a commit`;
  return measured
    .filter(({ scenario }) => scenario.connections >= CONNECTIONS)
    .map((each): Line => {
      const { calls, instances, connections, paid: isPaid } = each.scenario;
      const site: Site = { ...machine, instances, batchesAtOnce: BATCHES[calls], connections };
      const stolen = median(each.stolen) ?? 0;
      const predicted = isPaid
        ? paidPerSecond(withStolenTime(stolen, paidCosts), perBatch, site)
        : freePerSecond(withStolenTime(stolen, freeCosts), site);
      const real = figureOf(each, (rate) => rate.perSecond);
      return {
        measure: `${titleOf(each.scenario)}: prediction`,
        gateway: `${real.toFixed(0)}/s`,
        peer:
          `predicted ${predicted.toFixed(0)}/s, ${(stolen * 100).toFixed(0)} % ` +
          `stolen${each === usual ? `: ${reported}` : ""}`,
        value: Math.abs(predicted / real - 1),
        bar: { atMost: ERROR },
      };
    });
}

/** One instance alone, with few connections and with many. */
function alone(measured: readonly Measured[], calls: Scenario["calls"]): Measured[] {
  return measured.filter(({ scenario }) => scenario.instances === 1 && scenario.calls === calls);
}

/** Cost of a call, by batch size. */
function costsOf(alone: readonly Measured[], batch: (measured: Measured) => number): Costs {
  const costOf = (micros: (rate: FleetRate) => number) =>
    costThrough(alone.map((each) => pointOf(each, batch, micros)));
  return { all: costOf(allMicros), gateway: costOf(({ gatewayMicros }) => gatewayMicros) };
}

/** Total cost of a call. */
function allMicros({ gatewayMicros, databaseMicros = 0, restMicros }: FleetRate): number {
  return gatewayMicros + databaseMicros + restMicros;
}

/** Cost of a call at a batch size. */
function pointOf(
  measured: Measured,
  batch: (measured: Measured) => number,
  micros: (rate: FleetRate) => number,
) {
  return { batch: batch(measured), ms: figureOf(measured, micros) / 1000 };
}

function figureOf({ rates }: Measured, figure: (rate: FleetRate) => number): number {
  return median(rates.map(figure)) ?? Number.NaN;
}
