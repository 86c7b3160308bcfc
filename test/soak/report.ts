import type { Line } from "../bench/report.ts";
import type { Answers } from "./load.ts";
import type { Sample } from "./samples.ts";
import { holds, type Check } from "./verdict.ts";

/** A sample of the soak test. */
export interface Moment {
  readonly sample: Sample;
  /** Since the previous sample. */
  readonly answers: Answers;
  readonly perSecond: number;
}

/** Result of a soak test. */
export interface SoakResult {
  /** Acts per second at full load, and of the lasting load. */
  readonly fullLoad: number;
  readonly load: number;
  readonly minutes: number;
  readonly moments: readonly Moment[];
  /** Growth of the database, bytes per act. */
  readonly bytesPerAct: number;
  readonly played: Readonly<Record<string, number>>;
  readonly unexpected: Readonly<Record<string, { count: number; first: string }>>;
  /** Share of CPU time stolen by the host; undefined where unknown. */
  readonly stolen: number | undefined;
  readonly checks: readonly Check[];
}

/** Maximum rows of the table. */
const ROWS = 30;

const COLUMNS: readonly (readonly [title: string, figure: (moment: Moment) => string])[] = [
  ["time", ({ sample }) => clock(sample.seconds)],
  ["calls/s", ({ perSecond }) => perSecond.toFixed(0)],
  ["p50 ms", ({ answers }) => answers.p50Ms?.toFixed(1) ?? "-"],
  ["p99 ms", ({ answers }) => answers.p99Ms?.toFixed(1) ?? "-"],
  ["RSS MB", ({ sample }) => sample.residentMb.toFixed(0)],
  ["heap MB", ({ sample }) => sample.heapMb.toFixed(1)],
  ["external MB", ({ sample }) => sample.externalMb.toFixed(1)],
  ["descriptors", ({ sample }) => String(sample.descriptors)],
  ["sockets", ({ sample }) => String(sample.sockets)],
  ["resources", ({ sample }) => String(sample.resources)],
  ["loop p99 ms", ({ sample }) => sample.loopDelayMs.toFixed(1)],
  ["database connections", ({ sample }) => String(sample.databaseConnections)],
  ["database MB", ({ sample }) => sample.databaseMb.toFixed(0)],
];

/** Header and row of the table. */
export function head(): string {
  return COLUMNS.map(([title]) => title).join(" | ");
}
export function row(moment: Moment): string {
  return COLUMNS.map(([title, figure]) => figure(moment).padStart(title.length)).join(" | ");
}

/** The whole report as text. */
export function report(result: SoakResult): string {
  const { fullLoad, load, minutes, moments, bytesPerAct, played, unexpected, checks } = result;
  const every = Math.ceil(moments.length / ROWS);
  return [
    `${minutes.toFixed(1)} min at ${load.toFixed(0)} calls/s; at full load it was ` +
      `${fullLoad.toFixed(0)} calls/s`,
    "",
    head(),
    ...moments.filter((_, index) => (moments.length - 1 - index) % every === 0).map(row),
    "",
    `calls: ${Object.entries(played)
      .map(([name, count]) => `${name} ${count}`)
      .join(", ")}`,
    `the database grew by ${bytesPerAct.toFixed(0)} bytes a call`,
    ...Object.entries(unexpected).map(
      ([name, { count, first }]) => `not expected: ${name}, ${count} times: ${first}`,
    ),
    "",
    ...checks.map((check) => `${holds(check) ? "ok  " : "FAIL"} ${checkText(check)}`),
  ].join("\n");
}

/** Lines in the format of the benchmark results. */
export function soakLines({ checks, fullLoad, load, minutes, moments }: SoakResult): Line[] {
  const slowest = Math.max(...moments.map(({ answers }) => answers.p99Ms ?? 0));
  const about =
    `${minutes.toFixed(0)} min at ${load.toFixed(0)} calls/s of ${fullLoad.toFixed(0)}, p99 at most ` +
    `${slowest.toFixed(0)} ms`;
  return checks.map((check) => ({
    measure: `soak, ${check.name}`,
    gateway: figure(check.value, check.unit),
    peer: about,
    value: check.value,
    bar: { atMost: check.atMost },
  }));
}

function checkText({ name, value, atMost, unit }: Check): string {
  return `${name}: ${figure(value, unit)}, at most ${figure(atMost, unit)}`;
}

function figure(value: number, unit: string): string {
  return unit === "" ? value.toFixed(0) : `${value.toFixed(2)} ${unit}`;
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
