import { setTimeout as sleep } from "node:timers/promises";
import type * as kubernetes from "@kubernetes/client-node";
import type {
  BatchV1Api,
  ConfigurationOptions,
  CoreV1Api,
  Informer,
  KubeConfig,
  RequestContext,
  ResponseContext,
  V1Pod,
} from "@kubernetes/client-node";
import { ApiFailure, failureOf } from "./api-failure.ts";

type Library = typeof kubernetes;

/** Time limit of a response, ms. */
const ANSWER_MS = 10_000;

/** Backoff, ms, unless the server sends Retry-After. Longer delays are not waited for. */
const PAUSES_MS = [100, 300, 900];
const MAX_BACKOFF_MS = 5_000;

/** The API server: the library's clients, with time limits, retries and an end. */
export class Cluster {
  readonly library: Library;
  readonly config: KubeConfig;
  readonly server: URL;
  readonly core: CoreV1Api;
  readonly batch: BatchV1Api;
  readonly #closed = new AbortController();

  constructor(library: Library, config: KubeConfig, server: URL) {
    this.library = library;
    this.config = config;
    this.server = server;
    this.core = config.makeApiClient(library.CoreV1Api);
    this.batch = config.makeApiClient(library.BatchV1Api);
  }

  /** Retries transient failures, so the request must be safe to repeat. @throws ApiFailure */
  async call<T>(ask: (options: ConfigurationOptions) => Promise<T>, signal?: AbortSignal): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await ask(this.#options(this.#until(signal, AbortSignal.timeout(ANSWER_MS))));
      } catch (error) {
        const failure = this.#failureOf(error);
        failure.retried = attempt > 0;
        const pause = pauseAfter(failure, attempt);
        if (pause === undefined || signal?.aborted === true) throw failure;
        await sleep(pause, undefined, { signal: this.#until(signal) });
      }
    }
  }

  /** Streams until the server ends it. @param idleMs longest silence. @throws ApiFailure also if cut */
  async *stream(path: string, idleMs: number, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const { RequestContext: Request, HttpMethod, IsomorphicFetchHttpLibrary } = this.library;
    const silent = new AbortController();
    const limit = (ms: number) => setTimeout(() => silent.abort(new Error(`silent for ${ms} ms`)), ms);
    let timer = limit(ANSWER_MS);
    try {
      const request = new Request(this.server.href.replace(/\/$/, "") + path, HttpMethod.GET);
      await this.config.applySecurityAuthentication(request);
      request.setSignal(this.#until(signal, silent.signal));
      const { httpStatusCode, body } = await new IsomorphicFetchHttpLibrary().send(request).toPromise();
      if (httpStatusCode !== 200) throw failureOf(httpStatusCode, await body.text(), undefined);
      clearTimeout(timer);
      timer = limit(idleMs);
      for await (const chunk of body.stream() ?? []) {
        timer.refresh();
        yield Buffer.from(chunk);
      }
    } catch (error) {
      throw this.#failureOf(error);
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }

  podInformer(namespace: string, labelSelector: string): Informer<V1Pod> {
    const watch = new this.library.Watch(this.config);
    const start = watch.watch.bind(watch);
    // The library's rejects unheard if authentication fails, and starts although the informer was stopped.
    watch.watch = async (path, query, callback, done) => {
      try {
        this.#closed.signal.throwIfAborted();
        return await start(path, query, callback, done);
      } catch (error) {
        done(error);
        return new AbortController();
      }
    };
    const list = () =>
      this.call((options) => this.core.listNamespacedPod({ namespace, labelSelector }, options));
    const path = `/api/v1/namespaces/${namespace}/pods`;
    return new this.library.ListWatch(path, watch, list, false, labelSelector);
  }

  close(): void {
    this.#closed.abort();
  }

  #options(signal: AbortSignal): ConfigurationOptions {
    const { Observable } = this.library;
    const pre = (request: RequestContext) => {
      request.setSignal(signal);
      return new Observable(Promise.resolve(request));
    };
    const post = (response: ResponseContext) => new Observable(Promise.resolve(response));
    return { middleware: [{ pre, post }], middlewareMergeStrategy: "append" };
  }

  #until(...signals: (AbortSignal | undefined)[]): AbortSignal {
    return AbortSignal.any([this.#closed.signal, ...signals.filter((signal) => signal !== undefined)]);
  }

  #failureOf(error: unknown): ApiFailure {
    if (error instanceof ApiFailure) return error;
    if (error instanceof this.library.ApiException)
      return failureOf(error.code, String(error.body ?? ""), error.headers["retry-after"]);
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : String(cause);
    return new ApiFailure(`the cluster's API server at ${this.server.host} did not answer: ${why}`, {
      cause: error,
    });
  }
}

/** Returns the delay before a retry, ms; undefined if a retry would not help. */
function pauseAfter({ transient, retryAfterSeconds }: ApiFailure, attempt: number): number | undefined {
  const pause = PAUSES_MS[attempt];
  if (!transient || pause === undefined) return undefined;
  if (retryAfterSeconds === undefined) return pause * (0.75 + Math.random() / 2);
  const wanted = retryAfterSeconds * 1_000;
  return wanted <= MAX_BACKOFF_MS ? wanted : undefined;
}
