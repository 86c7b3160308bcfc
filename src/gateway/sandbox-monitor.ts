import { setTimeout as sleep } from "node:timers/promises";
import type { Metrics } from "../app/operations/metrics.ts";
import type { SandboxEngine, SelfTestStatus } from "../domain/tools/sandbox.ts";
import type { Log } from "../domain/core/log.ts";
import { systemClock } from "../system.ts";

export interface SandboxMonitorOptions {
  readonly engine: SandboxEngine;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** First and longest pause between self-tests, ms. */
const [FIRST_PAUSE_MS, MAX_PAUSE_MS] = [1_000, 300_000];

/** Time limit of the self-test, ms: it starts Python several times, which is slow on a busy machine. */
const HEALTH_MS = 120_000;

/** Interval of the cleanup, and the longest time an execution may take including its queue, ms. */
const [REAP_EVERY_MS, OLDEST_MS] = [60_000, 15 * 60_000];

/** Repeats the sandbox self-test until it passes, and removes leftovers of executions. */
export class SandboxMonitor {
  readonly #options: SandboxMonitorOptions;
  readonly #stopping = new AbortController();
  #proof: SelfTestStatus = "running";
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: SandboxMonitorOptions) {
    this.#options = options;
    options.metrics.set("toolgate_sandbox_ready", 0);
  }

  /** State of the self-test: "running" until its first result. */
  get proof(): SelfTestStatus {
    return this.#proof;
  }

  start(): void {
    const { signal } = this.#stopping;
    this.#running = Promise.all([this.#prove(signal), this.#clear(signal)]);
  }

  /** Resolves when all background work has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #prove(signal: AbortSignal): Promise<void> {
    const { engine, metrics, log } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      const startedAt = systemClock.now();
      try {
        await engine.health(AbortSignal.any([signal, AbortSignal.timeout(HEALTH_MS)]));
        const { isolationLayers, languages } = await engine.capabilities();
        if (signal.aborted) return;
        this.#proof = "passed";
        metrics.set("toolgate_sandbox_ready", 1);
        log.info(
          { engine: engine.name, walls: isolationLayers, languages, ms: systemClock.now() - startedAt },
          "sandbox self-test passed: sandbox_execute is available",
        );
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#proof = "failed";
        log.warn(
          { err: error, retryAfterMs: pauseMs },
          "sandbox self-test failed: sandbox_execute is unavailable; will retry",
        );
      }
      await pause(pauseMs, signal);
    }
  }

  async #clear(signal: AbortSignal): Promise<void> {
    const { engine, log } = this.#options;
    for (;;) {
      await pause(REAP_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        const cleared = await engine.reap(new Date(systemClock.now() - OLDEST_MS));
        if (cleared > 0) log.warn({ cleared }, "removed leftovers of executions");
      } catch (error) {
        log.warn({ err: error }, "removing leftovers of executions failed; will retry");
      }
    }
  }
}

/** Waits; does not keep the process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
}
