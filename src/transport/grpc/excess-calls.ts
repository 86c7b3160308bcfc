import type { OpenCall } from "./open-call.ts";

/** Limits of waiting calls without a key. */
export interface KeylessLimits {
  readonly perConnection: number;
  readonly total: number;
}

/** Returns the calls to end: the oldest above the limit of a connection, then of the largest ones. */
export function excessCalls(calls: Iterable<OpenCall>, { perConnection, total }: KeylessLimits): OpenCall[] {
  const connections = [...Map.groupBy(calls, ({ stream }) => stream.session).values()];
  const ended = connections.flatMap((held) => held.splice(0, held.length - perConnection));
  let left = connections.reduce((sum, { length }) => sum + length, 0);
  for (; left > total; left--) {
    const largest = connections.reduce((most, held) => (held.length > most.length ? held : most));
    ended.push(...largest.splice(0, 1));
  }
  return ended;
}
