import { CALL_METRICS, REQUEST_METRICS } from "../../src/app/operations/call-metrics.ts";
import { METRICS } from "../../src/app/operations/metrics.ts";

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

const HEAD = "| metric | type | labels | meaning |\n|---|---|---|---|\n";
const ROW = /^\| `(toolgate_\w+)` \| (\w+) \| (.*?) \| (.*) \|$/gm;

/** Returns docs/reference/metrics.md with the table of all metrics. */
export function metricsPage(page: string): string {
  const rows = Object.entries(ALL_METRICS)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { type, help, labels }]) => `| \`${name}\` | ${type} | ${named(labels)} | ${help} |\n`);
  return page.slice(0, page.indexOf(HEAD) + HEAD.length) + rows.join("");
}

function named(labels: readonly string[]): string {
  return labels.length === 0 ? "none" : labels.map((label) => `\`${label}\``).join(", ");
}

/** The rows of the page's table, by metric. */
export function rowsOf(page: string): Map<string, Described> {
  return new Map(
    [...page.matchAll(ROW)].map(([, name = "", type = "", labels = "", help = ""]) => [
      name,
      { type, help, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label) },
    ]),
  );
}
