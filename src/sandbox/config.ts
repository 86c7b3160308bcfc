import { z } from "zod";

/** The `sandbox` part of the configuration file. */
export const sandboxSchema = z
  .strictObject({
    /** Executions that one API key may have at once, over all instances. */
    concurrency_per_key: z.int().min(1).max(1_000).prefault(2),
  })
  .prefault({});

/** The `sandbox` part as read. */
export type SandboxSection = z.output<typeof sandboxSchema>;
