import { hash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { JsonObject } from "../../../domain/core/json.ts";

const LIMIT_MS = 20_000;

/** Several tools often share one document. */
const MAX_CACHED = 64;

const answer = z.union([z.strictObject({ valid: z.literal(true) }), z.strictObject({ problem: z.string() })]);

const checked = new Map<string, Promise<void>>();

/**
 * Validates a document against the OpenAPI schema. Runs in a thread, since it takes 0.3 s or more of CPU.
 * @throws Error with the problem
 */
export function assertValidDocument(root: JsonObject): Promise<void> {
  const key = hash("sha256", JSON.stringify(root));
  const known = checked.get(key);
  if (known) return known;
  if (checked.size >= MAX_CACHED) checked.clear();
  const result = inThread(root);
  checked.set(key, result);
  // A failure may be a timeout, so it is not cached.
  result.catch(() => checked.delete(key));
  return result;
}

async function inThread(root: JsonObject): Promise<void> {
  const worker = new Worker(new URL("document-check-thread.ts", import.meta.url), { workerData: root });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  worker.once("message", resolve).once("error", reject);
  worker.once("exit", () => reject(new Error("it could not be checked")));
  const overdue = setTimeout(
    () => reject(new Error(`it cannot be checked within ${LIMIT_MS / 1000} s`)),
    LIMIT_MS,
  );
  try {
    const verdict = answer.parse(await promise);
    if ("problem" in verdict) throw new Error(verdict.problem);
  } finally {
    clearTimeout(overdue);
    await worker.terminate();
  }
}
