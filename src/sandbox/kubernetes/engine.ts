import type { V1Job } from "@kubernetes/client-node";
import { randomBytes } from "node:crypto";
import {
  type AccountJob,
  cancelledBeforeStart,
  type SandboxCapabilities,
  type SandboxEngine,
  type SandboxExecution,
} from "../../domain/tools/sandbox.ts";
import type { Cluster } from "./cluster.ts";
import { openCluster } from "./cluster-access.ts";
import type { KubernetesSection } from "./config.ts";
import type { Log } from "../../domain/core/log.ts";
import { Execution, type ExecutionParts } from "./execution.ts";
import { Slots } from "../process/slots.ts";
import { JobExistsError, ExecutionsApi } from "./executions-api.ts";
import { abortedError, closedError, fullError, toToolgateError } from "./failures.ts";
import { checkCluster } from "./health.ts";
import { nameOf } from "./manifest.ts";
import { PodWatch } from "./pod-watch.ts";

interface Entry {
  readonly waiting: AbortController;
  execution: Execution | undefined;
}

/** Opens the engine without contacting the cluster. @throws Error if the credentials cannot be read */
export async function openKubernetesEngine(section: KubernetesSection, log: Log): Promise<SandboxEngine> {
  return new KubernetesEngine(section, await openCluster(section), log);
}

/** Runs each execution as a Job. Instances may share the namespace. */
class KubernetesEngine implements SandboxEngine {
  readonly name = "kubernetes";
  readonly #cluster: Cluster;
  readonly #slots: Slots;
  readonly #parts: ExecutionParts;
  readonly #entries = new Map<string, Entry>();
  readonly #clearing = new Set<Promise<void>>();
  #capabilities: SandboxCapabilities | undefined;
  #closed = false;

  constructor(section: KubernetesSection, cluster: Cluster, log: Log) {
    const instance = randomBytes(8).toString("hex");
    this.#cluster = cluster;
    this.#slots = new Slots(section.concurrency, section.queue);
    const api = new ExecutionsApi(cluster, section.namespace);
    this.#parts = { api, watch: new PodWatch(api, instance, log), section, instance, log };
  }

  async capabilities(): Promise<SandboxCapabilities> {
    if (this.#capabilities === undefined)
      throw new Error("what the image offers is known once the cluster was checked");
    return this.#capabilities;
  }

  async health(signal: AbortSignal): Promise<void> {
    this.#capabilities = await checkCluster(this.#cluster, this.#parts, signal);
  }

  async start(job: AccountJob, signal: AbortSignal): Promise<SandboxExecution> {
    if (this.#closed) throw closedError();
    if (signal.aborted) throw abortedError();
    if (this.#entries.has(job.runId)) throw toToolgateError(new JobExistsError(job.runId), false);
    const entry: Entry = { waiting: new AbortController(), execution: undefined };
    this.#entries.set(job.runId, entry);
    const abort = () => {
      entry.waiting.abort(abortedError());
      entry.execution?.abandon(abortedError());
    };
    signal.addEventListener("abort", abort, { once: true });
    const forget = () => {
      signal.removeEventListener("abort", abort);
      this.#entries.delete(job.runId);
    };
    try {
      await this.#acquireSlot(job, entry.waiting);
      entry.execution = this.#start(job, forget);
    } catch (error) {
      forget();
      throw error;
    }
    await entry.execution.started;
    return { done: entry.execution.done };
  }

  /** @throws ToolgateError UNAVAILABLE if the queue is full */
  async #acquireSlot({ accountId }: AccountJob, { signal }: AbortController): Promise<void> {
    const place = this.#slots.acquire(accountId, signal);
    if (place === undefined) throw fullError();
    await place;
    if (!signal.aborted) return;
    this.#slots.release(accountId);
    signal.throwIfAborted();
  }

  /** Releases the slot after the execution's objects are deleted. */
  #start(job: AccountJob, forget: () => void): Execution {
    const execution = new Execution(job, this.#parts);
    const cleared = execution.cleanedUp.finally(() => {
      this.#clearing.delete(cleared);
      this.#slots.release(job.accountId);
    });
    this.#clearing.add(cleared);
    void execution.done.then(forget, forget);
    return execution;
  }

  async cancel(runId: string): Promise<boolean> {
    const entry = this.#entries.get(runId);
    if (entry?.execution !== undefined) return entry.execution.cancel();
    if (entry !== undefined) {
      entry.waiting.abort(cancelledBeforeStart());
      return true;
    }
    const { api } = this.#parts;
    const job = await api.findJob(nameOf(runId));
    if (job === undefined || hasJobEnded(job)) return false;
    return (await api.deleteJob(nameOf(runId), job.metadata?.uid ?? "")) !== "absent";
  }

  async reap(olderThan: Date): Promise<number> {
    const { api } = this.#parts;
    const underWay = new Set([...this.#entries.keys()].map(nameOf));
    let reaped = 0;
    for (const {
      metadata: { name = "", uid = "", creationTimestamp = olderThan } = {},
    } of await api.listJobs()) {
      if (!(creationTimestamp < olderThan) || underWay.has(name)) continue;
      if ((await api.deleteJob(name, uid)) === "deleted") reaped += 1;
    }
    return reaped;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { waiting, execution } of this.#entries.values()) {
      waiting.abort(closedError());
      execution?.abandon(closedError());
    }
    await Promise.allSettled(this.#clearing);
    await this.#parts.watch.close();
    this.#cluster.close();
  }
}

/** Job v1, "Terminal Job conditions". */
function hasJobEnded({ status }: V1Job): boolean {
  return (status?.conditions ?? []).some(
    (condition) =>
      (condition.type === "Complete" || condition.type === "Failed") && condition.status === "True",
  );
}
