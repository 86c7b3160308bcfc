import type { OpenCall } from "./tracked-call.ts";

/** How many calls may wait. */
export interface KeylessLimits {
  readonly perConnection: number;
  readonly total: number;
}

/**
 * The calls to end so that no more are left than may be: of a connection with too many the oldest; of too many in all the oldest of
 * the connection that has the most, so that calls over other connections stay.
 * @param calls oldest first
 */
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
