import type { Comparison, Range, Rate } from "./measure.ts";

/** One line of the tables: a figure and the bar that it is held to. */
export interface Line {
  readonly measure: string;
  readonly gateway: string;
  /** The compared peer and its result. */
  readonly peer: string;
  readonly value: number;
  /** Of a ratio over several rounds. */
  readonly range?: Range | undefined;
  readonly bar: Bar;
  /** For comparisons of calls: durations on both sides. */
  readonly calls?: Calls | undefined;
}

export type Bar = { readonly atMost: number } | { readonly atLeast: number };

/** Durations on both sides, medians of the rounds. */
export interface Calls {
  readonly what: string;
  readonly peer: string;
  readonly gatewayRate: Rate;
  readonly peerRate: Rate;
}

/** Whether the figure meets its bar. */
export function isMet({ value, bar }: Line): boolean {
  return "atMost" in bar ? value <= bar.atMost : value >= bar.atLeast;
}

/** Whether the bar is met, or by how much of itself it is missed. */
export function verdict(line: Line): string {
  if (isMet(line)) return "met";
  const limit = limitOf(line.bar);
  if (limit === 0) return `missed by ${figure(line.value)}`;
  const percent = Math.abs(line.value / limit - 1) * 100;
  return `missed by ${percent < 10 ? Math.max(0.1, percent).toFixed(1) : percent.toFixed(0)} %`;
}

/** The number that a bar is at. */
export function limitOf(bar: Bar): number {
  return "atMost" in bar ? bar.atMost : bar.atLeast;
}

/** @returns such as `<= 1.7` */
export function barText(bar: Bar): string {
  return `${"atMost" in bar ? "<=" : ">="} ${Number(limitOf(bar).toFixed(3))}`;
}

/** A ratio as tables show it. */
export function figure(value: number): string {
  if (value !== 0 && Math.abs(value) < 0.2) return value.toFixed(3);
  return Math.abs(value) < 100 ? value.toFixed(2) : value.toFixed(0);
}

/** Calls per second of both sides. */
export function throughputLine(measure: string, comparison: Comparison, peer: string, atLeast: number): Line {
  const { gateway, peer: other, throughputRatio: ratio } = comparison;
  return {
    ...{ measure: `${measure}: throughput`, value: ratio.median, range: ratio.range, bar: { atLeast } },
    gateway: `${gateway.perSecond.toFixed(0)}/s`,
    peer: `${peer} ${other.perSecond.toFixed(0)}/s`,
    calls: callsOf(measure, comparison, peer),
  };
}

/** Server CPU per call of both sides; no line where it could not be measured. */
export function cpuLine(measure: string, comparison: Comparison, peer: string, atMost: number): Line[] {
  const { gateway, peer: other, cpuRatio: ratio } = comparison;
  if (!ratio) return [];
  return [
    {
      ...{
        measure: `${measure}: server CPU per call`,
        value: ratio.median,
        range: ratio.range,
        bar: { atMost },
      },
      gateway: `${gateway.cpuMicros?.toFixed(0)} us`,
      peer: `${peer} ${other.cpuMicros?.toFixed(0)} us`,
      calls: callsOf(measure, comparison, peer),
    },
  ];
}

/** 99th percentile on both sides; omitted if it could not be measured. */
export function p99Line(measure: string, comparison: Comparison, peer: string, atMost: number): Line[] {
  const { gateway, peer: other, p99Ratio: ratio } = comparison;
  if (!ratio) return [];
  return [
    {
      ...{ measure: `${measure}: p99`, value: ratio.median, range: ratio.range, bar: { atMost } },
      gateway: `${gateway.p99Ms?.toFixed(1)} ms`,
      peer: `${peer} ${other.p99Ms?.toFixed(1)} ms`,
      calls: callsOf(measure, comparison, peer),
    },
  ];
}

function callsOf(what: string, { gateway, peer: peerRate }: Comparison, peer: string): Calls {
  return { what, peer, gatewayRate: gateway, peerRate };
}
