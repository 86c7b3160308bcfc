import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { SANDBOX_LANGUAGES, type SandboxJob } from "../../../domain/tools/sandbox.ts";

const memoryMb = z.int().min(64);

const jobFileSchema = z.strictObject({
  runId: z.string(),
  language: z.enum(SANDBOX_LANGUAGES),
  timeoutMs: z.int().min(1),
  /** Authenticates the result. */
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  limits: z.strictObject({
    memoryMb: z.strictObject({ javascript: memoryMb, python: memoryMb }),
    cpuMs: z.int().min(1),
  }),
});

/** `job.json` of an execution's Secret. Code and input are files beside it. */
export type JobFile = z.output<typeof jobFileSchema>;

/** Reads the job. @throws Error if the folder's content is invalid */
export async function readJob(
  folder: string,
): Promise<{ job: SandboxJob; nonce: string; limits: JobFile["limits"] }> {
  const [file, code, stdin] = await Promise.all(
    ["job.json", "code", "stdin"].map((name) => readFile(path.join(folder, name), "utf8")),
  );
  const { nonce, limits, ...rest } = jobFileSchema.parse(JSON.parse(file ?? ""));
  return { job: { ...rest, code: code ?? "", stdin: stdin ?? "" }, nonce, limits };
}
