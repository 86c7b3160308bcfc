import type { Tally } from "./tally.ts";

/** The state in one line. */
export function progressLine(tally: Tally, seconds: number): string {
  const { counts, actions, violations } = tally;
  return [
    `${seconds.toFixed(0).padStart(5)} s  ${tally.profile.padEnd(16)}`,
    `calls ${counts.calls}`,
    `kills ${actions.kill}`,
    `stalls ${actions.stall}`,
    `cuts ${actions.cut}`,
    `fenced ${counts.fenced}`,
    `crashes ${counts.crashes}`,
    `rpc ${counts.rpc}`,
    `audits ${counts.audits}`,
    `violations ${violations.length}`,
  ].join("  ");
}

/** The outcome of a run. */
export interface Run {
  readonly seed: number;
  readonly profile: string;
  readonly seconds: number;
  /** Ended by a signal, without the final checks. */
  readonly stopped: boolean;
}

/** The report as JSON. */
export function jsonReport(tally: Tally, run: Run): object {
  return {
    ...run,
    counts: tally.counts,
    actions: tally.actions,
    strikes: Object.fromEntries(tally.strikes),
    never_struck: tally.neverStruck,
    answers: Object.fromEntries(tally.answers),
    violations: tally.violations,
  };
}

/** The report as text. */
export function report(tally: Tally, run: Run): string {
  const { counts, actions, violations, neverStruck } = tally;
  const rows: [string, string | number][] = [
    ["seed, profile", `${run.seed}, ${run.profile}`],
    [
      "time",
      `${run.seconds.toFixed(0)} ` +
        `s${run.stopped ? ", ended by a signal; what was not finished is not judged" : ""}`,
    ],
    ["calls (HTTP requests)", `${counts.calls} (${counts.requests})`],
    ["answers 200", counts.acknowledged],
    ["of metered calls, streamed, keyless", `${counts.metered}, ${counts.streamed}, ${counts.keyless}`],
    ["acknowledged calls that are durable", `${counts.durable} of ${counts.promised}`],
    ["acknowledged calls asked for again", counts.replays],
    ["payments on the chain, taken off it by forks", `${counts.payments}, ${counts.forks}`],
    ["kills", `${actions.kill} (${(actions.kill / run.seconds).toFixed(2)}/s)`],
    ["stalls beyond the lease", actions.stall],
    ["finishes that came too late (fenced)", counts.fenced],
    ["starts after a death", counts.restarts],
    ["crashes of PostgreSQL", counts.crashes],
    ["connections cut", actions.cut],
    ["failed tools, delays", `${actions.fail}, ${actions.delay}`],
    ["RPC requests that failed", counts.rpc],
    ["audits, quiet points", `${counts.audits}, ${counts.quiet}`],
    ["points struck", `${tally.strikes.size - neverStruck.length} of ${tally.strikes.size}`],
    ["broken promises", violations.length],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const answers = [...tally.answers].sort(([, one], [, other]) => other - one);
  lines.push(
    "",
    `Answers: ${listed(answers)}`,
    "",
    `Strikes: ${listed([...tally.strikes].filter(([, count]) => count > 0))}`,
  );
  if (neverStruck.length > 0) lines.push("", `Never struck: ${neverStruck.join(", ")}`);
  for (const { promise, profile, details, rows: found } of violations.slice(0, 10)) {
    lines.push("", `BROKEN, with ${profile}: ${promise}`, json(details));
    if (found) lines.push(json(found));
  }
  if (violations.length > 10) lines.push("", `and ${violations.length - 10} more`);
  return lines.join("\n");
}

function listed(counts: readonly (readonly [string, number])[]): string {
  return counts.map(([name, count]) => `${name} ${count}`).join(", ");
}

/** JSON with bigints as numbers. */
export function json(value: unknown): string {
  return JSON.stringify(
    value,
    (_, member: unknown) => (typeof member === "bigint" ? Number(member) : member),
    2,
  );
}
