import { z } from "zod";
import { kubernetesSchema } from "./kubernetes/config.ts";

/** MB */
const memory = z.int().min(64).max(65_536);

/** Idle workers per language. */
const idle = z.int().min(0).max(64);

/** The built-in engine: a process per execution on this machine, isolated by SANDBOX_ISOLATION. */
const processSchema = z
  .strictObject({
    /** Concurrent executions per instance. Default: twice the cores, at most one per 600 MB of memory. */
    concurrency: z.int().min(1).max(1_000).optional(),
    /** Executions that may queue per instance. */
    queue: z.int().min(0).max(10_000).prefault(16),
    idle_workers: z.strictObject({ javascript: idle.prefault(2), python: idle.prefault(1) }).prefault({}),
    /** Idle workers end after this time; the next call starts one. */
    retire_after_seconds: z.int().min(1).max(86_400).prefault(600),
    memory_mb: z
      .strictObject({ javascript: memory.prefault(256), python: memory.min(320).prefault(512) })
      .prefault({}),
    cpu_seconds: z.int().min(1).max(300).prefault(10),
    /** Folder with pure-Python wheels and their SHA256SUMS. */
    python_wheels_dir: z.string().min(1).optional(),
  })
  .prefault({});

/** The `sandbox` section of the configuration file. */
export const sandboxSchema = z
  .strictObject({
    /** Concurrent executions per account, over all instances. */
    concurrency_per_account: z.int().min(1).max(1_000).prefault(2),
    process: processSchema,
    /** If set, executions run as Jobs of this cluster and not on this machine. */
    kubernetes: kubernetesSchema.optional(),
  })
  .prefault({});

export type SandboxSection = z.output<typeof sandboxSchema>;
