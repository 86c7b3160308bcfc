import { cellOf, type Cell } from "../../domain/core/ids.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { Log } from "../../domain/core/log.ts";
import type { Metrics } from "./metrics.ts";

/** Time in which names of one kind are logged once, ms: anyone can send them. */
const PERIOD_MS = 10_000;

/** Returns the cell of a gateway, which counts and logs foreign names. @param number CELL */
export function openCell(
  number: number,
  { clock, metrics, log }: { clock: Clock; metrics: Metrics; log: Log },
): Cell {
  const loggedAt = new Map<string, number>();
  return cellOf(number, (name, cell) => {
    metrics.count("toolgate_foreign_names_total", 1, { name });
    const now = clock.now();
    if (now - (loggedAt.get(name) ?? -PERIOD_MS) < PERIOD_MS) return;
    loggedAt.set(name, now);
    log.warn({ name, cell, own_cell: number }, "refused a name of another cell; check the router");
  });
}
