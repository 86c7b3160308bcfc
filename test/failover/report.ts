import { json } from "../faults/report.ts";
import type { Tally } from "../faults/tally.ts";
import { KINDS } from "./kinds.ts";
import type { Failover } from "./lab.ts";

/** One failover in a line. */
export function line({ kind, from, to, recoveryMs, acknowledged, lost }: Failover, number: number): string {
  return [
    `${String(number).padStart(3)}  ${from} ${kind.padEnd(8)} -> ${to}`,
    `all gateways sell again after ${seconds(recoveryMs)}`,
    `acknowledged ${acknowledged}`,
    `lost ${lost}`,
  ].join("  ");
}

/** The outcome of a run. */
export interface Outcome {
  readonly seed: number;
  readonly synchronous: boolean;
  readonly seconds: number;
  readonly stopped: boolean;
  readonly failovers: readonly Failover[];
}

/** The report as JSON. */
export function jsonReport({ counts, answers, violations }: Tally, outcome: Outcome): string {
  const recovery = { p50: percentile(outcome, 0.5), p95: percentile(outcome, 0.95) };
  return json({
    ...outcome,
    recovery_ms: recovery,
    counts,
    answers: Object.fromEntries(answers),
    violations,
  });
}

/** The report as text. */
export function report({ counts, answers, violations }: Tally, outcome: Outcome): string {
  const { failovers, seed, synchronous } = outcome;
  const stopped = outcome.stopped ? ", ended by a signal; what was not finished is not judged" : "";
  const [p50, p95] = [percentile(outcome, 0.5), percentile(outcome, 0.95)];
  const kinds = KINDS.flatMap((kind) => {
    const times = failovers.filter((one) => one.kind === kind).map(({ recoveryMs }) => recoveryMs);
    return times.length === 0 ? [] : [`${kind} ${times.length} (up to ${seconds(Math.max(...times))})`];
  });
  const rows: [string, string | number][] = [
    ["seed, standbys", `${seed}, ${synchronous ? "synchronous" : "asynchronous"}`],
    ["time", `${outcome.seconds.toFixed(0)} s${stopped}`],
    ["failovers", `${failovers.length}: ${kinds.join(", ")}`],
    ["recovery", `p50 ${seconds(p50)}, p95 ${seconds(p95)}`],
    ["calls (HTTP requests)", `${counts.calls} (${counts.requests})`],
    ["answers 200", counts.acknowledged],
    ["acknowledged calls lost", failovers.reduce((sum, { lost }) => sum + lost, 0)],
    ["acknowledged calls that are durable", `${counts.durable} of ${counts.promised}`],
    ["acknowledged calls asked for again", counts.replays],
    ["payments on the chain", counts.payments],
    ["audits", counts.audits],
    ["broken promises", violations.length],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const answered = [...answers].sort(([, one], [, other]) => other - one);
  lines.push("", `Answers: ${answered.map(([name, count]) => `${name} ${count}`).join(", ")}`);
  for (const { promise, profile, details, rows: found } of violations.slice(0, 5))
    lines.push("", `BROKEN, with ${profile}: ${promise}`, json(details), ...(found ? [json(found)] : []));
  if (violations.length > 5) lines.push("", `and ${violations.length - 5} more`);
  return lines.join("\n");
}

/** The time within which that share of the failovers was over, ms. */
function percentile({ failovers }: Outcome, share: number): number {
  const times = failovers.map(({ recoveryMs }) => recoveryMs).sort((one, other) => one - other);
  return times[Math.ceil(times.length * share) - 1] ?? 0;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
