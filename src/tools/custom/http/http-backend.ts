import { ToolgateError } from "../../../domain/core/errors.ts";
import type { JsonObject } from "../../../domain/core/json.ts";
import type { Span } from "../../../domain/core/span.ts";
import { neverConnected, openGuardedFetch, type OpenFetch } from "../../../outbound/guarded-fetch.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendAnswer, BackendCall, BackendDescription } from "../backend.ts";
import { callFailed, failedAfterWork } from "../failure.ts";
import { secretsOfHeader } from "../headers.ts";
import { isUrl, type HttpSection } from "../settings.ts";
import { readResponse } from "./read-response.ts";
import { fetchDocument, readDocumentFile } from "./document.ts";
import { planOperation, type OperationPlan } from "./operation-plan.ts";
import { composeRequest, type ComposedRequest } from "./request.ts";

/** Bytes. */
const DOCUMENT_BYTES = 8 * 1024 * 1024;

/** An operation of an OpenAPI document. Reuses its connections. */
export class HttpBackend implements Backend {
  readonly #options: BackendOptions<HttpSection>;
  readonly #server: OpenFetch;
  readonly #secrets: readonly string[];
  #plan: OperationPlan | undefined;

  constructor(options: BackendOptions<HttpSection>) {
    this.#options = options;
    this.#server = openGuardedFetch({ ...options.guard, maxBytes: options.maxResponseBytes });
    this.#secrets = Object.values(options.headers).flatMap(secretsOfHeader);
  }

  async describe(signal: AbortSignal): Promise<BackendDescription> {
    const { section, headers, guard, files } = this.#options;
    const document = isUrl(section.openapi)
      ? await this.#fetchDocument(section.openapi, signal)
      : await readDocumentFile(section.openapi, files);
    this.#plan = planOperation(document, section, Object.keys(headers), guard);
    return { description: this.#plan.description, inputSchema: this.#plan.inputs.schema };
  }

  check(params: JsonObject): void {
    composeRequest(this.#requirePlan(), params);
  }

  async call(params: JsonObject, { signal, idempotencyKey, span }: BackendCall): Promise<BackendAnswer> {
    const { tool, headers, maxResponseBytes } = this.#options;
    const plan = this.#requirePlan();
    const request = composeRequest(plan, params);
    const keyed = idempotencyKey !== undefined && plan.method !== "GET";
    const repeatable = keyed ? { "Idempotency-Key": idempotencyKey } : {};
    const trailers: Record<string, string> = {};
    if (span) describeRequest(span, plan.method, request.url);
    const own = { ...span?.headers, ...repeatable, ...headers };
    const answer = await this.#send(plan, request, own, signal, trailers);
    span?.set({ "http.response.status_code": answer.status });
    const result = await readResponse(answer, {
      tool,
      documentedTypes: plan.responseTypes,
      secrets: this.#secrets,
      maxBytes: maxResponseBytes,
    });
    return { result, headers: Object.fromEntries(answer.headers), trailers };
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  async #send(
    { method, responseTypes: answers }: OperationPlan,
    { url, headers, body }: ComposedRequest,
    own: Readonly<Record<string, string>>,
    signal: AbortSignal,
    trailers: Record<string, string>,
  ): Promise<Response> {
    const all = { ...headers, Accept: acceptOf(answers), "User-Agent": "toolgate", ...own };
    try {
      return await this.#server.fetch(url, {
        method,
        headers: all,
        signal,
        onTrailers: (received) => Object.assign(trailers, received),
        ...(body !== undefined && { body }),
      });
    } catch (error) {
      if (error instanceof ToolgateError) throw error;
      const asked = neverConnected(error) ? callFailed : failedAfterWork;
      throw asked(this.#options.tool, "the server cannot be reached", error);
    }
  }

  async #fetchDocument(url: string, signal: AbortSignal) {
    const source = openGuardedFetch({ ...this.#options.guard, maxBytes: DOCUMENT_BYTES });
    try {
      return await fetchDocument(url, source.fetch, signal);
    } finally {
      await source.close();
    }
  }

  #requirePlan(): OperationPlan {
    if (!this.#plan) throw new TypeError("describe() comes first");
    return this.#plan;
  }
}

/** Without the path: it may contain parameters. */
function describeRequest(span: Span, method: string, url: string | URL): void {
  const { hostname, port, protocol } = new URL(url);
  const standard = protocol === "https:" ? 443 : 80;
  const server = { "server.address": hostname, "server.port": port === "" ? standard : Number(port) };
  span.set({ "http.request.method": method, ...server }, method);
}

/** Accepts the documented types; prefers JSON if none are documented. */
function acceptOf(answers: readonly string[]): string {
  return answers.length > 0
    ? [...new Set(answers)].join(", ")
    : "application/json, text/plain;q=0.9, */*;q=0.8";
}
