import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { ROOT } from "../tooling/command.ts";

// docs/explanation/performance.json holds the latest results; the table of performance.md comes from it.

export const DOCS = path.join(ROOT, "docs/explanation");
const line = z.strictObject({
  measure: z.string(),
  gateway: z.string(),
  peer: z.string(),
  ratio: z.number().optional(),
  range: z.strictObject({ least: z.number(), most: z.number() }).optional(),
});
const result = z.strictObject({
  date: z.iso.date(),
  machine: z.string(),
  /** Commit of the sources, shortened; absent for changed sources or without a repository. */
  commit: z.string().optional(),
  /** Share of the CPU time that the host gave to other machines; absent if unknown. */
  stolen: z.number().optional(),
  lines: z.array(line),
});
const results = z.record(z.string(), result);

export type Result = z.input<typeof result>;
export type Results = z.output<typeof results>;

export async function readResults(docs = DOCS): Promise<Results> {
  return results.parse(JSON.parse(await readFile(path.join(docs, "performance.json"), "utf8")));
}

/** Replaces a result. @throws Error for a figure that is not finite */
export async function changeResults(name: string, changed: Result, docs = DOCS): Promise<Results> {
  const all = { ...(await readResults(docs)), [name]: result.parse(changed) };
  // Four digits are more than measurements repeat.
  const digits = (_: string, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value;
  await writeFile(path.join(docs, "performance.json"), `${JSON.stringify(all, digits, 2)}\n`);
  return readResults(docs);
}
