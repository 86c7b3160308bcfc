import type { V1Job, V1Secret } from "@kubernetes/client-node";
import { ApiFailure } from "./api-failure.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { ATTEMPT_ANNOTATION, CONTAINER, MANAGED_LABELS } from "./manifest.ts";
import { type Job, jobListSchema, jobSchema, type Pod, podListSchema, podSchema } from "./objects.ts";

const MANAGED = Object.entries(MANAGED_LABELS)
  .map((pair) => pair.join("="))
  .join(",");

/** Longest silence of a followed log, ms: code may say nothing for as long as it runs. */
const LOG_IDLE_MS = 120_000;

/** What became of a Job that was to be deleted. "unsure": it is gone, perhaps by an earlier try whose answer was lost. */
export type Deleted = "deleted" | "absent" | "unsure";

/** A Job of that name is there already, and this attempt did not make it. */
export class JobExistsError extends Error {
  override name = "AlreadyBegun";
}

/** The cluster's requests that executions are made of, in one namespace. */
export class ExecutionsApi {
  readonly #api: ClusterApi;
  readonly #jobs: string;
  readonly #core: string;

  constructor(api: ClusterApi, namespace: string) {
    this.#api = api;
    this.#jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
    this.#core = `/api/v1/namespaces/${namespace}`;
  }

  /**
   * Makes a Job, once: a repeated request finds the Job of the first one by its attempt.
   * A cluster that does not know a field of it refuses, rather than to leave a wall out.
   * @throws AlreadyBegun
   * @throws ApiFailure
   */
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

  /** Makes the Secret of a Job of one's own; one that is there already comes from an earlier try. */
  async createSecret(manifest: V1Secret): Promise<void> {
    try {
      await this.#create(`${this.#core}/secrets`, manifest);
    } catch (error) {
      if (!alreadyExists(error)) throw error;
    }
  }

  /** @returns undefined when there is none */
  async findJob(name: string): Promise<Job | undefined> {
    try {
      const body = await this.#api.json({ method: "GET", path: `${this.#jobs}/${name}` });
      return jobSchema.parse(body);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /** Deletes a Job, and with it, in the background, its pod and its Secret. Who deletes it decides how the execution ended. */
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
      // Absent, or another of the same name. With an earlier try that was lost, nobody can say who deleted it.
      if (isAbsent(error)) return error instanceof ApiFailure && error.retried ? "unsure" : "absent";
      throw error;
    }
  }

  /** All Jobs that engines of any instance have made. */
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

  /** @returns undefined when it is gone */
  async findPod(name: string): Promise<Pod | undefined> {
    try {
      const body = await this.#api.json({ method: "GET", path: `${this.#core}/pods/${name}` });
      return podSchema.parse(body);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /** The changes of pods from a version on, as lines of JSON. */
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
    // It ends by itself; when it does not, the connection is dead.
    return this.#api.stream(
      { method: "GET", path: `${this.#core}/pods`, query, signal },
      (seconds + 15) * 1_000,
    );
  }

  /** The log of a pod from its start, followed to its end. */
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
