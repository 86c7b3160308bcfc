import { z } from "zod";
import { kubernetesSchema } from "./kubernetes/config.ts";

/** Megabytes that guests of a language may have. */
const memory = z.int().min(64).max(65_536);

/** How many workers of a language wait for a job. */
const idle = z.int().min(0).max(64);

/** The engine that is built in: a process for each execution, on the gateway's own machine. What stands around it is SANDBOX_ISOLATION's. */
const processSchema = z
  .strictObject({
    /** Executions at once on one instance. Left out: twice the cores, or one for each 600 MB of memory if that is less. */
    concurrency: z.int().min(1).max(1_000).optional(),
    /** Calls that may wait for their turn on one instance. */
    queue: z.int().min(0).max(10_000).prefault(16),
    idle_workers: z.strictObject({ javascript: idle.prefault(2), python: idle.prefault(1) }).prefault({}),
    /** Workers that nobody wanted for so long are ended; the next call starts one. */
    retire_after_seconds: z.int().min(1).max(86_400).prefault(600),
    memory_mb: z
      .strictObject({ javascript: memory.prefault(256), python: memory.min(320).prefault(512) })
      .prefault({}),
    cpu_seconds: z.int().min(1).max(300).prefault(10),
    /** A folder with the operator's wheels of pure Python, and their SHA256SUMS. */
    python_wheels_dir: z.string().min(1).optional(),
  })
  .prefault({});

/** The `sandbox` part of the configuration file. */
export const sandboxSchema = z
  .strictObject({
    /** Executions that one account may have at once, over all instances. */
    concurrency_per_account: z.int().min(1).max(1_000).prefault(2),
    process: processSchema,
    /** Given: executions are Jobs of this cluster, and none runs on the gateway's own machine. */
    kubernetes: kubernetesSchema.optional(),
  })
  .prefault({});

/** The `sandbox` part as read. */
export type SandboxSection = z.output<typeof sandboxSchema>;
