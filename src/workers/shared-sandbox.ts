import { z } from "zod";
import {
  type AccountJob,
  SANDBOX_LANGUAGES,
  type SandboxCapabilities,
  type SandboxEngine,
  type SandboxExecution,
  type SandboxOutcome,
} from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import { type EngineOpener, openEngine, type SandboxSettings } from "../gateway/sandbox.ts";
import { sandboxSchema } from "../sandbox/config.ts";
import type { Channel } from "./channel.ts";

const language = z.enum(SANDBOX_LANGUAGES);

const settingsSchema = z.object({
  SANDBOX_ISOLATION: z.enum(["auto", "required", "process", "off"]).optional(),
  sandbox: sandboxSchema,
});

const jobSchema = z.object({
  runId: z.string(),
  accountId: z.string(),
  language,
  code: z.string(),
  stdin: z.string(),
  timeoutMs: z.number(),
}) satisfies z.ZodType<AccountJob>;

const capabilitiesSchema = z.object({
  languages: z.array(language),
  isolationLayers: z.array(z.string()),
  packages: z.array(z.string()),
}) satisfies z.ZodType<SandboxCapabilities>;

const outcomeSchema = z.object({
  status: z.enum([
    ...([
      "succeeded",
      "failed",
      "timeout",
      "cancelled",
      "memory_limit",
      "cpu_limit",
      "output_limit",
    ] as const),
  ]),
  stdout: z.string(),
  stderr: z.string(),
  stdoutTruncated: z.boolean(),
  stderrTruncated: z.boolean(),
  result: z.json(),
  error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
  exitCode: z.number().nullable(),
  durationMs: z.number(),
  cpuMs: z.number().nullable(),
});

/** Time limit of a self-test, ms: it starts Python several times, which is slow on a busy machine. */
const HEALTH_MS = 120_000;

interface Shared {
  readonly engine: Promise<SandboxEngine>;
  readonly users: Set<Channel>;
  /** The self-test that runs or has passed. */
  health?: Promise<void> | undefined;
}

/** The primary's sandbox: its workers share the slots, the idle interpreters and the self-test. */
export class SharedSandbox {
  readonly #log: Log;
  readonly #open: EngineOpener;
  /** By their settings, which a reload may have changed for the workers that start after it. */
  readonly #engines = new Map<string, Shared>();

  constructor(log: Log, open: EngineOpener = openEngine) {
    this.#log = log;
    this.#open = open;
  }

  serve(channel: Channel): void {
    const opened = async (value: unknown) => await this.#shared(channel, value).engine;
    channel.handle("sandbox/health", (value) => this.#test(this.#shared(channel, value)));
    channel.handle("sandbox/capabilities", async (value) => (await opened(value)).capabilities());
    channel.handle("sandbox/cancel", async (value) => (await opened(value)).cancel(runOf.parse(value).runId));
    channel.handle("sandbox/run", async (value, signal) => {
      const job = jobSchema.parse(value);
      const { done } = await (await opened(value)).start(job, signal);
      await channel.request("sandbox/started", { runId: job.runId });
      return await done;
    });
  }

  /** Closes engines that no other worker uses. */
  async leave(channel: Channel): Promise<void> {
    for (const [key, { engine, users }] of this.#engines) {
      users.delete(channel);
      if (users.size > 0) continue;
      this.#engines.delete(key);
      await (await engine).close();
    }
  }

  #shared(channel: Channel, value: unknown): Shared {
    const settings = settingsSchema.parse(value);
    const key = JSON.stringify(settings);
    let shared = this.#engines.get(key);
    if (!shared) {
      const engine = Promise.resolve(this.#open(settings, this.#log, true));
      shared = { engine, users: new Set() };
      this.#engines.set(key, shared);
      engine.catch(() => this.#engines.delete(key));
    }
    shared.users.add(channel);
    return shared;
  }

  /** One self-test for all workers; a failed one is repeated at the next request. */
  #test(shared: Shared): Promise<void> {
    shared.health ??= shared.engine
      .then((engine) => engine.health(AbortSignal.timeout(HEALTH_MS)))
      .catch((error: unknown) => {
        shared.health = undefined;
        throw error;
      });
    return shared.health;
  }
}

const runOf = z.object({ runId: z.string() });

/** A worker's sandbox: the primary runs its code. */
export function sandboxOf(channel: Channel): EngineOpener {
  return (settings, log, isServing) => {
    const { SANDBOX_ISOLATION, sandbox } = settings;
    if (sandbox.kubernetes !== undefined) return openEngine(settings, log, isServing);
    return new RemoteEngine(channel, { SANDBOX_ISOLATION, sandbox });
  };
}

class RemoteEngine implements SandboxEngine {
  readonly name = "process";
  readonly #channel: Channel;
  readonly #settings: SandboxSettings;
  /** Called when the code was handed over, by the run's id. */
  readonly #handedOver = new Map<string, () => void>();
  readonly #closing = new AbortController();

  constructor(channel: Channel, settings: SandboxSettings) {
    this.#channel = channel;
    this.#settings = settings;
    channel.handle("sandbox/started", async (value) => this.#handedOver.get(runOf.parse(value).runId)?.());
  }

  async capabilities(): Promise<SandboxCapabilities> {
    return capabilitiesSchema.parse(await this.#channel.request("sandbox/capabilities", this.#settings));
  }

  async health(signal: AbortSignal): Promise<void> {
    await this.#channel.request("sandbox/health", this.#settings, signal);
  }

  async start(job: AccountJob, signal: AbortSignal): Promise<SandboxExecution> {
    const { promise: started, resolve } = Promise.withResolvers<void>();
    this.#handedOver.set(job.runId, resolve);
    const done = this.#run(job, signal);
    // The caller may have gone before it rejects.
    done.catch(() => {});
    try {
      await Promise.race([started, done]);
    } finally {
      this.#handedOver.delete(job.runId);
    }
    return { done };
  }

  async #run(job: AccountJob, signal: AbortSignal): Promise<SandboxOutcome> {
    const ends = AbortSignal.any([signal, this.#closing.signal]);
    const outcome = await this.#channel.request("sandbox/run", { ...this.#settings, ...job }, ends);
    return outcomeSchema.parse(outcome);
  }

  async cancel(runId: string): Promise<boolean> {
    return (await this.#channel.request("sandbox/cancel", { ...this.#settings, runId })) === true;
  }

  /** Nothing remains of processes. */
  async reap(): Promise<number> {
    return 0;
  }

  /** Ends this worker's executions; the primary closes its engine. */
  async close(): Promise<void> {
    this.#closing.abort();
  }
}
