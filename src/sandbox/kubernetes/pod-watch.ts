import type { Informer, V1Pod } from "@kubernetes/client-node";
import type { Log } from "../../domain/core/log.ts";
import type { ExecutionsApi } from "./executions-api.ts";
import { INSTANCE_LABEL, RUN_LABEL } from "./manifest.ts";

/** Pause before watching again after a failure, ms. */
const PAUSE_MS = 500;

/** Receives the pod's current state; undefined once it is deleted. */
export type PodListener = (pod: V1Pod | undefined) => void;

/** Watches all pods of an engine with one informer. */
export class PodWatch {
  readonly #informer: Informer<V1Pod>;
  readonly #listeners = new Map<string, PodListener>();
  #running = false;
  #restart: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(api: ExecutionsApi, instance: string, log: Log) {
    this.#informer = api.podInformer(`${INSTANCE_LABEL}=${instance}`);
    const notify = (pod: V1Pod, state: V1Pod | undefined) =>
      this.#listeners.get(pod.metadata?.labels?.[RUN_LABEL] ?? "")?.(state);
    this.#informer.on("add", (pod) => notify(pod, pod));
    this.#informer.on("update", (pod) => notify(pod, pod));
    this.#informer.on("delete", (pod) => notify(pod, undefined));
    this.#informer.on("error", (error: unknown) => {
      if (this.#closed) return;
      log.warn({ err: error }, "watch of the sandbox pods was cut; it starts again");
      clearTimeout(this.#restart);
      this.#restart = setTimeout(() => void this.#informer.start(), PAUSE_MS);
    });
  }

  /** Subscribes to the pod of an execution. @returns the unsubscribe function */
  subscribe(name: string, hearer: PodListener): () => void {
    this.#listeners.set(name, hearer);
    if (!this.#running) void this.#informer.start();
    this.#running = true;
    return () => this.#listeners.delete(name);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#restart);
    await this.#informer.stop();
  }
}
