import { setTimeout as sleep } from "node:timers/promises";
import { ApiFailure, failureOfEvent } from "./api-failure.ts";
import type { Log } from "../../domain/core/log.ts";
import type { ExecutionsApi } from "./executions-api.ts";
import { INSTANCE_LABEL, RUN_LABEL } from "./manifest.ts";
import { type Pod, podSchema, watchEventSchema } from "./objects.ts";

const WATCH_SECONDS = 240;

/** Pause before listing the pods again after a failure, ms. */
const PAUSE_MS = 500;

/** Receives the pod's current state; undefined once it is deleted. */
export type PodListener = (pod: Pod | undefined) => void;

/** Watches all pods of an engine with one list and one watch; lists again after 410 or a cut stream. */
export class PodWatch {
  readonly #api: ExecutionsApi;
  readonly #selector: string;
  readonly #log: Log;
  readonly #closed = new AbortController();
  readonly #listeners = new Map<string, PodListener>();
  /** Execution name by pod name. */
  readonly #seen = new Map<string, string>();
  #running: Promise<void> | undefined;

  constructor(api: ExecutionsApi, instance: string, log: Log) {
    this.#api = api;
    this.#selector = `${INSTANCE_LABEL}=${instance}`;
    this.#log = log;
  }

  /** Subscribes to the pod of an execution. @returns the unsubscribe function */
  subscribe(name: string, hearer: PodListener): () => void {
    this.#listeners.set(name, hearer);
    this.#running ??= this.#run();
    return () => this.#listeners.delete(name);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    let version = "";
    while (!signal.aborted) {
      try {
        if (version === "") version = await this.#list();
        version = await this.#follow(version);
      } catch (error) {
        version = "";
        if (signal.aborted) return;
        const expired = error instanceof ApiFailure && error.status === 410;
        if (expired) continue;
        this.#log.warn({ err: error }, "watch of the sandbox pods was cut; listing them again");
      }
      // Also after a clean end, in case the server ends every watch at once.
      await sleep(version === "" ? PAUSE_MS : PAUSE_MS / 10, undefined, { signal }).catch(() => undefined);
    }
  }

  async #list(): Promise<string> {
    const { pods, resourceVersion } = await this.#api.listPods(this.#selector, this.#closed.signal);
    const there = new Set(pods.map(({ metadata }) => metadata.name));
    for (const [pod, name] of this.#seen) {
      if (there.has(pod)) continue;
      this.#seen.delete(pod);
      this.#listeners.get(name)?.(undefined);
    }
    for (const pod of pods) this.#notify(pod, false);
    return resourceVersion;
  }

  /** @returns the resource version to resume from */
  async #follow(from: string): Promise<string> {
    let version = from;
    let rest = "";
    const decoder = new TextDecoder();
    const stream = this.#api.watchPods(this.#selector, version, WATCH_SECONDS, this.#closed.signal);
    for await (const chunk of stream) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) version = this.#take(line) || version;
    }
    return version;
  }

  /** @returns the event's resource version */
  #take(line: string): string {
    const { type, object } = watchEventSchema.parse(JSON.parse(line));
    if (type === "ERROR") throw failureOfEvent(object);
    const pod = podSchema.parse(object);
    if (type !== "BOOKMARK") this.#notify(pod, type === "DELETED");
    return pod.metadata.resourceVersion;
  }

  #notify(pod: Pod, gone: boolean): void {
    const name = pod.metadata.labels[RUN_LABEL] ?? "";
    if (gone) this.#seen.delete(pod.metadata.name);
    else this.#seen.set(pod.metadata.name, name);
    this.#listeners.get(name)?.(gone ? undefined : pod);
  }
}
