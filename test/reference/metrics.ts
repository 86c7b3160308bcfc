import { CALL_METRICS, REQUEST_METRICS } from "../../src/app/operations/call-metrics.ts";
import { METRICS } from "../../src/app/operations/metrics.ts";
import { list, withPart } from "./markdown.ts";

interface Described {
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Every metric of the gateway's own, by name. */
export const ALL_METRICS: Readonly<Record<string, Described>> = {
  ...REQUEST_METRICS,
  ...CALL_METRICS,
  ...METRICS,
};

/** Fills docs/reference/metrics.md with the metrics in the order of their names. */
export function metricsPage(page: string): string {
  const rows = Object.entries(ALL_METRICS)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { type, help, labels }]) => `\`${name}${named(labels)}\` ${type}: ${help}`);
  return withPart(page, "metrics", list(rows));
}

function named(labels: readonly string[]): string {
  return labels.length === 0 ? "" : `{${labels.join(",")}}`;
}
