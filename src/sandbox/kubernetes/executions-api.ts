import type { ConfigurationOptions, Informer, V1Job, V1Pod, V1Secret } from "@kubernetes/client-node";
import { ApiFailure } from "./api-failure.ts";
import type { Cluster } from "./cluster.ts";
import { ATTEMPT_ANNOTATION, CONTAINER, MANAGED_LABELS } from "./manifest.ts";

const MANAGED = Object.entries(MANAGED_LABELS)
  .map((pair) => pair.join("="))
  .join(",");

/** Running code may be silent. */
const LOG_IDLE_MS = 120_000;

/** Result of deleting a Job. "unsure": gone, possibly by an earlier attempt whose response was lost. */
export type Deleted = "deleted" | "absent" | "unsure";

export class JobExistsError extends Error {
  override name = "JobExistsError";
}

/** Requests for Jobs, Secrets, pods and logs in one namespace. */
export class ExecutionsApi {
  readonly #cluster: Cluster;
  readonly #namespace: string;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.#namespace = namespace;
  }

  /** Creates a Job, or recognises its own by the attempt annotation. @throws JobExistsError, ApiFailure */
  async createJob(body: V1Job): Promise<V1Job> {
    const { batch } = this.#cluster;
    const name = body.metadata?.name ?? "";
    const request = { namespace: this.#namespace, body, fieldValidation: "Strict" };
    try {
      return await this.#cluster.call((options) => batch.createNamespacedJob(request, options));
    } catch (error) {
      if (!alreadyExists(error)) throw error;
      const there = await this.findJob(name);
      const attempt = body.metadata?.annotations?.[ATTEMPT_ANNOTATION];
      if (there !== undefined && there.metadata?.annotations?.[ATTEMPT_ANNOTATION] === attempt) return there;
      throw new JobExistsError(`the Job ${name} is there already`);
    }
  }

  /** Creates the Secret of a Job. An existing one comes from an earlier attempt. */
  async createSecret(body: V1Secret): Promise<void> {
    const { core } = this.#cluster;
    const request = { namespace: this.#namespace, body, fieldValidation: "Strict" };
    try {
      await this.#cluster.call((options) => core.createNamespacedSecret(request, options));
    } catch (error) {
      if (!alreadyExists(error)) throw error;
    }
  }

  /** Returns undefined if it does not exist. */
  async findJob(name: string): Promise<V1Job | undefined> {
    const request = { namespace: this.#namespace, name };
    return this.#find((options) => this.#cluster.batch.readNamespacedJob(request, options));
  }

  /** Deletes a Job and, later, its pod and Secret. The first deletion decides how the execution ended. */
  async deleteJob(name: string, uid: string): Promise<Deleted> {
    const body = { propagationPolicy: "Background", preconditions: { uid } };
    const request = { namespace: this.#namespace, name, body };
    try {
      await this.#cluster.call((options) => this.#cluster.batch.deleteNamespacedJob(request, options));
      return "deleted";
    } catch (error) {
      // Absent, or replaced by another of the same name. After a retry the deletion may have been our own.
      if (isAbsent(error)) return error instanceof ApiFailure && error.retried ? "unsure" : "absent";
      throw error;
    }
  }

  /** Lists the Jobs of all gateway instances. */
  async listJobs(): Promise<V1Job[]> {
    const request = { namespace: this.#namespace, labelSelector: MANAGED };
    const { batch } = this.#cluster;
    return (await this.#cluster.call((options) => batch.listNamespacedJob(request, options))).items;
  }

  /** Returns undefined if it does not exist. */
  async findPod(name: string): Promise<V1Pod | undefined> {
    const request = { namespace: this.#namespace, name };
    return this.#find((options) => this.#cluster.core.readNamespacedPod(request, options));
  }

  podInformer(labelSelector: string): Informer<V1Pod> {
    return this.#cluster.podInformer(this.#namespace, labelSelector);
  }

  /** Follows a pod's log from its start. */
  followLog(pod: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const path = `/api/v1/namespaces/${this.#namespace}/pods/${pod}/log?container=${CONTAINER}&follow=true`;
    return this.#cluster.stream(path, LOG_IDLE_MS, signal);
  }

  async #find<T>(ask: (options: ConfigurationOptions) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#cluster.call(ask);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }
}

function alreadyExists(error: unknown): boolean {
  return error instanceof ApiFailure && error.status === 409 && error.reason === "AlreadyExists";
}

function isAbsent(error: unknown): boolean {
  return (
    error instanceof ApiFailure &&
    (error.status === 404 || (error.status === 409 && error.reason === "Conflict"))
  );
}
