import { pino } from "pino";

/** Discards everything. */
export const silent = pino({ level: "silent" });
