import type { FleetRate } from "./instances-fleet.ts";
import { CONNECTIONS, titleOf, type Measured } from "./instances-scenarios.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

/** Throughput of several instances or cells relative to one that keeps the machine busy. */
const MIN_THROUGHPUT_RATIO = 0.8;
/** The least share of an instance, over the greatest. */
const MIN_SHARE_RATIO = 0.5;
/** Cost of a call on several instances relative to one. */
const MAX_COST_RATIO = 1.5;

/** Several instances or cells against one of them, measured in the same rounds. */
export function instanceLines(measured: readonly Measured[]): Line[] {
  return measured
    .filter(({ scenario }) => scenario.instances > 1)
    .flatMap((several) => {
      const { calls } = several.scenario;
      const one = measured.find(
        ({ scenario: { calls: same, instances, connections } }) =>
          same === calls && instances === 1 && connections === CONNECTIONS,
      );
      return one ? linesOf(several, one) : [];
    });
}

function linesOf({ scenario, rates }: Measured, one: Measured): Line[] {
  const name = titleOf(scenario);
  const ratio = (figure: (rate: FleetRate) => number) =>
    median(
      rates.flatMap((rate, round) => (one.rates[round] ? [figure(rate) / figure(one.rates[round])] : [])),
    );
  return [
    {
      measure: `${name}: throughput`,
      gateway: perSecond(rates),
      peer: `one ${scenario.unit} ${perSecond(one.rates)}`,
      value: ratio((rate) => rate.perSecond) ?? Number.NaN,
      bar: { atLeast: MIN_THROUGHPUT_RATIO },
    },
    {
      measure: `${name}: CPU per call`,
      gateway: cpuText(rates),
      peer: `one ${scenario.unit} ${cpuText(one.rates)}`,
      value: ratio((rate) => rate.gatewayMicros + (rate.databaseMicros ?? 0)) ?? Number.NaN,
      bar: { atMost: MAX_COST_RATIO },
    },
    {
      measure: `${name}: least share`,
      gateway: shareText(rates),
      peer: "the greatest",
      value: median(rates.map(fairness)) ?? Number.NaN,
      bar: { atLeast: MIN_SHARE_RATIO },
    },
  ];
}

/** The least answered by one of them, over the most. */
function fairness({ shares }: FleetRate): number {
  const each = shares.map((share) => share.perSecond);
  return Math.min(...each) / Math.max(...each);
}

function perSecond(rates: readonly FleetRate[]): string {
  return `${medianOf(rates, (rate) => rate.perSecond)}/s`;
}

function cpuText(rates: readonly FleetRate[]): string {
  const gateway = `gateway ${medianOf(rates, (rate) => rate.gatewayMicros)} us`;
  const database = medianOf(rates, (rate) => rate.databaseMicros);
  return database === undefined ? gateway : `${gateway}, PostgreSQL ${database} us`;
}

/** The p99 of each instance. */
function shareText(rates: readonly FleetRate[]): string {
  const instances = rates[0]?.shares.length ?? 0;
  const p99 = Array.from({ length: instances }, (_, index) =>
    medianOf(rates, (rate) => rate.shares[index]?.p99Ms),
  );
  return `p99 ${p99.join(", ")} ms`;
}

function medianOf(
  rates: readonly FleetRate[],
  figure: (rate: FleetRate) => number | undefined,
): string | undefined {
  return median(rates.flatMap((rate) => figure(rate) ?? []))?.toFixed(0);
}
