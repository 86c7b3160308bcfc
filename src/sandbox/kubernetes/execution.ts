import type { V1Pod } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolgateError } from "../../domain/core/errors.ts";
import { cancelledBeforeStart, type SandboxJob, type SandboxOutcome } from "../../domain/tools/sandbox.ts";
import type { KubernetesSection } from "./config.ts";
import { exitCauseOf } from "./exit-cause.ts";
import type { Log } from "../../domain/core/log.ts";
import type { ExecutionsApi } from "./executions-api.ts";
import { toToolgateError } from "./failures.ts";
import { readLog, type LogFinding } from "./log-reader.ts";
import { jobManifest, nameOf, resultWithinMs, secretData, secretManifest } from "./manifest.ts";
import { emptyOutcome, stoppedOutcome } from "./outcomes.ts";
import { startFailure, hasStarted, hasEnded, pendingReason } from "./pod-state.ts";
import type { PodWatch } from "./pod-watch.ts";

/** Pause before reading a truncated log again, ms. */
const READ_AGAIN_MS = 200;

/** How often to check that a Job without a pod still exists, ms. */
const POLL_MS = 1_000;

/** Time for a cancelled pod to send its output, ms. The cluster kills it after three seconds. */
const OUTPUT_GRACE_MS = 4_000;

export interface ExecutionParts {
  readonly api: ExecutionsApi;
  readonly watch: PodWatch;
  readonly section: KubernetesSection;
  readonly instance: string;
  readonly log: Log;
  /** Command of the image; "run" by default. */
  readonly command?: "run" | "probe";
}

/** One execution: Job, Secret, pod and log. Deleting the Job decides how the execution ended. */
export class Execution {
  readonly #job: SandboxJob;
  readonly #name: string;
  readonly #parts: ExecutionParts;
  /** Authenticates the result in the log. Only the pod's Secret contains it. */
  readonly #nonce = randomBytes(16).toString("hex");
  /** Uid of the created Job; undefined if creation failed. */
  readonly #jobUid = Promise.withResolvers<string | undefined>();
  readonly #handedOver = Promise.withResolvers<void>();
  readonly #abandoned = Promise.withResolvers<never>();
  /** Stops reading the log. */
  readonly #stopReading = new AbortController();
  #changed = Promise.withResolvers<void>();
  #timeout: NodeJS.Timeout | undefined;
  #pod: V1Pod | undefined;
  #podGone = false;
  #startedAt: number | undefined;
  #timedOut = false;
  #cancelled = false;
  #finished = false;
  #jobGone = false;
  /** Resolves when the code was handed over or the execution ended; rejects with the error of `start`. */
  readonly started: Promise<void>;
  readonly done: Promise<SandboxOutcome>;
  /** Resolves when its objects are deleted, as far as possible. */
  readonly cleanedUp: Promise<void>;

  constructor(job: SandboxJob, parts: ExecutionParts) {
    this.#job = job;
    this.#name = nameOf(job.runId);
    this.#parts = parts;
    const carried = this.#execute();
    this.done = Promise.race([carried, this.#abandoned.promise]).finally(() => this.#finish());
    this.started = Promise.race([this.#handedOver.promise, this.done.then(() => undefined)]);
    this.cleanedUp = this.#cleanUp(carried);
    for (const promise of [this.done, this.started]) promise.catch(() => undefined);
  }

  /** Rejects `done` with this error; the result is no longer wanted. */
  abandon(error: ToolgateError): void {
    this.#abandoned.reject(error);
  }

  /** @returns whether this call cancelled the execution */
  async cancel(): Promise<boolean> {
    const uid = await this.#jobUid.promise;
    if (uid === undefined || this.#finished) return false;
    const deleted = await this.#parts.api.deleteJob(this.#name, uid);
    if (deleted === "absent") return false;
    this.#jobGone = true;
    this.#cancelled = true;
    // Wait for the output so far.
    setTimeout(() => this.#stopReading.abort(), OUTPUT_GRACE_MS).unref();
    this.#wake();
    return true;
  }

  async #execute(): Promise<SandboxOutcome> {
    const { watch, section } = this.#parts;
    const stopHearing = watch.subscribe(this.#name, (pod) => this.#observe(pod));
    this.#setTimeout(section.start_timeout_seconds * 1_000);
    try {
      await this.#create();
      const pod = await this.#waitForContainer();
      return await this.#outcome(pod === undefined ? "nothing" : await this.#read(pod));
    } catch (error) {
      const refused = toToolgateError(error, this.#startedAt !== undefined);
      if (!this.#finished && refused.code !== "CANCELLED")
        this.#parts.log.warn({ err: error, run: this.#job.runId }, `execution lost: ${refused.code}`);
      throw refused;
    } finally {
      clearTimeout(this.#timeout);
      stopHearing();
    }
  }

  /** The Job first: the Secret's owner reference needs it, and the pod cannot start without the Secret. */
  async #create(): Promise<void> {
    const { api, section, instance, command = "run" } = this.#parts;
    const parts = { section, instance, attempt: randomBytes(8).toString("hex") };
    const job = await api
      .createJob(jobManifest(this.#name, this.#job.timeoutMs, parts, command))
      .finally(() => this.#wake())
      .catch((error: unknown) => {
        this.#jobUid.resolve(undefined);
        throw error;
      });
    const uid = job.metadata?.uid ?? "";
    this.#jobUid.resolve(uid);
    if (this.#finished || this.#cancelled) return;
    await api.createSecret(
      secretManifest(this.#name, uid, secretData(this.#job, this.#nonce, section), parts),
    );
  }

  /** Waits for the container. @returns the pod's name; undefined if the execution ended before */
  async #waitForContainer(): Promise<string | undefined> {
    while (!this.#finished && !this.#cancelled && !this.#podGone) {
      const pod = this.#pod;
      const trouble = pod === undefined ? undefined : startFailure(pod);
      if (trouble !== undefined) throw new Error(trouble);
      if (pod !== undefined && hasStarted(pod)) return pod.metadata?.name;
      if (this.#timedOut) throw new Error(`it did not start in time: ${pendingReason(pod)}`);
      const again = setTimeout(() => this.#wake(), POLL_MS);
      await this.#changed.promise.finally(() => clearTimeout(again));
      // The watch sends no event if another instance deletes the Job before its pod exists.
      if (this.#pod === undefined && (await this.#findJob()) === undefined) return undefined;
    }
    return undefined;
  }

  /** Reads the log until it has the result or is complete; reads it again if cut. */
  async #read(pod: string): Promise<LogFinding> {
    const { signal } = this.#stopReading;
    for (;;) {
      const complete = this.#podGone || (this.#pod !== undefined && hasEnded(this.#pod));
      const found = await readLog(this.#parts.api, pod, this.#nonce, () => this.#markStarted(), signal);
      if (typeof found === "object" || found === "too-much" || signal.aborted) return found;
      if (found === "nothing" && complete) return found;
      await sleep(READ_AGAIN_MS);
      // The watch may lag behind.
      this.#observe(await this.#parts.api.findPod(pod));
    }
  }

  async #outcome(found: LogFinding): Promise<SandboxOutcome> {
    if (this.#finished) throw new Error("the execution was abandoned");
    const elapsed = this.#startedAt === undefined ? 0 : Date.now() - this.#startedAt;
    if (found === "too-much") return emptyOutcome("output_limit", elapsed);
    if (typeof found === "object" && "failure" in found)
      throw new Error(`in its pod: ${found.failure.message}`);
    const outcome = typeof found === "object" ? found.outcome : undefined;
    const stopped = (how: "cancelled" | "timeout") => {
      // Without any sign of a pod, no code is known to have run.
      if (how === "cancelled" && outcome === undefined && this.#startedAt === undefined)
        throw cancelledBeforeStart();
      return outcome ? stoppedOutcome(how, outcome) : emptyOutcome(how, elapsed);
    };
    if (this.#cancelled) return stopped("cancelled");
    if (outcome !== undefined && outcome.status !== "cancelled") {
      return (await this.#deleteJob()) ? outcome : stopped("cancelled");
    }
    const cause = await exitCauseOf(
      () => ({ pod: this.#pod, podGone: this.#podGone, late: this.#timedOut }),
      () => this.#findJob(),
    );
    if (cause.kind === "cancelled") return stopped("cancelled");
    if (cause.kind === "lost") throw new Error(cause.why);
    if (this.#startedAt === undefined)
      throw new Error(`it ended before the code was handed over: ${cause.kind}`);
    return cause.kind === "timeout" ? stopped("timeout") : emptyOutcome(cause.kind, elapsed);
  }

  /** Deletes the Job. @returns false if someone else deleted it, which cancels the execution */
  async #deleteJob(): Promise<boolean> {
    try {
      const deleted = await this.#parts.api.deleteJob(this.#name, (await this.#jobUid.promise) ?? "");
      this.#jobGone = true;
      return deleted !== "absent";
    } catch (error) {
      this.#parts.log.warn(
        { err: error, job: this.#name },
        "finished Job could not be deleted; it is reaped later",
      );
      return true;
    }
  }

  /** Finds this execution's Job, not another with the same name. */
  async #findJob() {
    const job = await this.#parts.api.findJob(this.#name);
    return job?.metadata?.uid === (await this.#jobUid.promise) ? job : undefined;
  }

  #observe(pod: V1Pod | undefined): void {
    if (pod === undefined) this.#podGone = true;
    else this.#pod = pod;
    this.#wake();
  }

  #markStarted(): void {
    if (this.#startedAt !== undefined) return;
    this.#startedAt = Date.now();
    this.#setTimeout(resultWithinMs(this.#job.timeoutMs));
    this.#handedOver.resolve();
  }

  /** A local time limit, in case the cluster never reports an end. */
  #setTimeout(ms: number): void {
    clearTimeout(this.#timeout);
    this.#timeout = setTimeout(() => {
      this.#timedOut = true;
      this.#stopReading.abort();
      this.#wake();
    }, ms);
  }

  #finish(): void {
    this.#finished = true;
    this.#stopReading.abort();
    this.#wake();
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }

  async #cleanUp(carried: Promise<unknown>): Promise<void> {
    await carried.catch(() => undefined);
    const uid = await this.#jobUid.promise;
    if (uid !== undefined && !this.#jobGone) await this.#deleteJob();
  }
}
