import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";
import type { Line } from "./report.ts";

// docs/explanation/performance.json holds the latest results; the tables and plots of performance.md come
// from it.

const FILE = path.join(ROOT, "docs/explanation/performance.json");

const rate = z.strictObject({
  perSecond: z.number(),
  cpuMicros: z.number().optional(),
  p50Ms: z.number().optional(),
  p99Ms: z.number().optional(),
});
const line = z.strictObject({
  measure: z.string(),
  gateway: z.string(),
  peer: z.string(),
  value: z.number(),
  range: z.strictObject({ least: z.number(), most: z.number() }).optional(),
  bar: z.union([z.strictObject({ atMost: z.number() }), z.strictObject({ atLeast: z.number() })]),
  calls: z.strictObject({ what: z.string(), peer: z.string(), gatewayRate: rate, peerRate: rate }).optional(),
});
const share = z.strictObject({ place: z.string(), share: z.number() });
/** When, where and how it was measured. */
const circumstances = {
  ...{ date: z.iso.date(), machine: z.string(), command: z.string() },
  /** Commit of the sources, shortened; absent for changed sources or without a repository. */
  commit: z.string().optional(),
  /** Share of the wanted processor time that the host gave to others (machine.ts); absent if unknown. */
  stolen: z.number().optional(),
};

const results = z.strictObject({
  parts: z.record(z.string(), z.strictObject({ ...circumstances, lines: z.array(line) })),
  /** Shares of the gateway's CPU time, by part. */
  profiles: z.record(
    z.string(),
    z.strictObject({ ...circumstances, groups: z.array(share), functions: z.array(share) }),
  ),
});

export type Results = z.output<typeof results>;
export type Circumstances = Pick<
  Results["parts"][string],
  "date" | "machine" | "command" | "commit" | "stolen"
>;

/** Reads them. */
export async function readResults(file = FILE): Promise<Results> {
  return results.parse(JSON.parse(await readFile(file, "utf8")));
}

/**
 * Replaces the results of the same parts.
 * @throws Error when it is not all finite numbers
 */
export async function changeResults(change: Partial<Results>, file = FILE): Promise<Results> {
  const old = await readResults(file);
  const changed = results.parse({
    parts: { ...old.parts, ...change.parts },
    profiles: { ...old.profiles, ...change.profiles },
  });
  // Four digits are more than measurements repeat.
  const digits = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value;
  await writeFile(file, `${JSON.stringify(changed, digits, 2)}\n`);
  return readResults(file);
}

/** @throws Error for a figure that is not finite */
export function checkedLines(lines: readonly Line[]): Line[] {
  return z.array(line).parse(lines);
}
