import type { V1Job, V1Secret } from "@kubernetes/client-node";
import { ApiFailure } from "./api-failure.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { ATTEMPT_ANNOTATION, CONTAINER, MANAGED_LABELS } from "./manifest.ts";
import { type Job, jobListSchema, jobSchema, type Pod, podListSchema, podSchema } from "./objects.ts";

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
  readonly #api: ClusterApi;
  readonly #jobs: string;
  readonly #core: string;

  constructor(api: ClusterApi, namespace: string) {
    this.#api = api;
    this.#jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    this.#core = `/api/v1/namespaces/${namespace}`;
  }

  /** Creates a Job, or recognises its own by the attempt annotation. @throws JobExistsError, ApiFailure */
  async createJob(manifest: V1Job): Promise<Job> {
    const name = manifest.metadata?.name ?? "";
    try {
      return jobSchema.parse(await this.#create(this.#jobs, manifest));
    } catch (error) {
      if (!alreadyExists(error)) throw error;
      const there = await this.findJob(name);
      const attempt = manifest.metadata?.annotations?.[ATTEMPT_ANNOTATION];
      if (there !== undefined && there.metadata.annotations[ATTEMPT_ANNOTATION] === attempt) return there;
      throw new JobExistsError(`the Job ${name} is there already`);
    }
  }

  /** Creates the Secret of a Job. An existing one comes from an earlier attempt. */
  async createSecret(manifest: V1Secret): Promise<void> {
    try {
      await this.#create(`${this.#core}/secrets`, manifest);
    } catch (error) {
      if (!alreadyExists(error)) throw error;
    }
  }

  /** Returns undefined if it does not exist. */
  async findJob(name: string): Promise<Job | undefined> {
    try {
      const body = await this.#api.json({ method: "GET", path: `${this.#jobs}/${name}` });
      return jobSchema.parse(body);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /** Deletes a Job and, later, its pod and Secret. The first deletion decides how the execution ended. */
  async deleteJob(name: string, uid: string): Promise<Deleted> {
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy: "Background",
      preconditions: { uid },
    };
    try {
      await this.#api.json({ method: "DELETE", path: `${this.#jobs}/${name}`, body });
      return "deleted";
    } catch (error) {
      // Absent, or replaced by another of the same name. After a retry the deletion may have been our own.
      if (isAbsent(error)) return error instanceof ApiFailure && error.retried ? "unsure" : "absent";
      throw error;
    }
  }

  /** Lists the Jobs of all gateway instances. */
  async listJobs(): Promise<Job[]> {
    const body = await this.#api.json({ method: "GET", path: this.#jobs, query: { labelSelector: MANAGED } });
    return jobListSchema.parse(body).items;
  }

  async listPods(
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<{ pods: Pod[]; resourceVersion: string }> {
    const path = `${this.#core}/pods`;
    const body = await this.#api.json({ method: "GET", path, query: { labelSelector }, signal });
    const { items, metadata } = podListSchema.parse(body);
    return { pods: items, resourceVersion: metadata.resourceVersion };
  }

  /** Returns undefined if it does not exist. */
  async findPod(name: string): Promise<Pod | undefined> {
    try {
      const body = await this.#api.json({ method: "GET", path: `${this.#core}/pods/${name}` });
      return podSchema.parse(body);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /** Watches pods from a resource version; yields JSON lines. */
  watchPods(
    labelSelector: string,
    resourceVersion: string,
    seconds: number,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer, void> {
    const query = {
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(seconds),
      labelSelector,
      resourceVersion,
    };
    // The server ends the watch itself; later silence means a dead connection.
    return this.#api.stream(
      { method: "GET", path: `${this.#core}/pods`, query, signal },
      (seconds + 15) * 1_000,
    );
  }

  /** Follows a pod's log from its start. */
  followLog(pod: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const query = { container: CONTAINER, follow: "true" };
    return this.#api.stream(
      { method: "GET", path: `${this.#core}/pods/${pod}/log`, query, signal },
      LOG_IDLE_MS,
    );
  }

  async #create(path: string, body: unknown): Promise<unknown> {
    return this.#api.json({ method: "POST", path, query: { fieldValidation: "Strict" }, body });
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
