import { ToolgateError } from "../../../domain/core/errors.ts";
import { type JsonObject, isJsonObject, type JsonValue } from "../../../domain/core/json.ts";
import type { Span } from "../../../domain/core/span.ts";
import { neverConnected, openGuardedFetch, type OpenFetch } from "../../../outbound/guarded-fetch.ts";
import type { ServerAnswer } from "../../../outbound/server-answer.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendAnswer, BackendCall, BackendDescription } from "../backend.ts";
import { callFailed, failedAfterWork } from "../failure.ts";
import { secretsOfHeader } from "../headers.ts";
import { isUrl, type HttpSection } from "../settings.ts";
import { readResponse } from "./read-response.ts";
import { fetchDocument, readDocumentFile, type OpenApiDocument } from "./document.ts";
import { composeRequest, type ComposedRequest, type RequestPlan } from "./request.ts";
import { isIP } from "node:net";
import { mayConnect, networkFor, type Guard } from "../../../outbound/address-guard.ts";
import { inputsOf } from "./inputs.ts";
import { findOperation, type Operation } from "./operation.ts";

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
    if (span) describeRequest(span, plan.method, request.url);
    const own = { ...span?.headers, ...repeatable, ...headers };
    const answer = await this.#send(plan, request, own, signal);
    span?.set({ "http.response.status_code": answer.status });
    const result = await readResponse(answer, {
      tool,
      documentedTypes: plan.responseTypes,
      secrets: this.#secrets,
      maxBytes: maxResponseBytes,
    });
    return { result, headers: Object.fromEntries(answer.headers), trailers: answer.trailers };
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  async #send(
    { method, responseTypes: answers }: OperationPlan,
    { url, headers, body }: ComposedRequest,
    own: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ServerAnswer> {
    const all = { ...headers, Accept: acceptOf(answers), "User-Agent": "toolgate", ...own };
    try {
      return await this.#server.request(url, { method, headers: all, body, signal });
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

export interface OperationPlan extends RequestPlan {
  readonly method: Operation["method"];
  readonly description: string | undefined;
  /** Documented media types; empty: any. */
  readonly responseTypes: readonly string[];
}

/** Plans the calls of an operation. @param headers of the operator. @throws Error for the operator */
export function planOperation(
  document: OpenApiDocument,
  section: HttpSection,
  headers: readonly string[],
  guard: Guard,
): OperationPlan {
  const operation = findOperation(document, section.operation_id);
  const inputs = inputsOf(document, operation, headers);
  const { method, path, description, responseTypes: answers } = operation;
  const server = serverOf(section, operation, guard);
  const named = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
  const missing = named.filter(
    (name) => !inputs.parameters.some((one) => one.location === "path" && one.name === name),
  );
  if (missing.length > 0)
    throw new Error(`has the path ${path} without the parameters ${missing.join(", ")}`);
  const filled = server.pathname.replace(/\/$/, "") + path.replaceAll(/\{[^{}]+\}/g, "x");
  if (!path.startsWith("/") || /[?#]/.test(path) || new URL(server.origin + filled).pathname !== filled)
    throw new Error(`has the path ${path}, which is not a valid URL path`);
  return { method, path, description, responseTypes: answers, inputs, server };
}

/** Returns the configured server, or the document's first, of the document's own origin: it gets secrets. */
function serverOf(section: HttpSection, { server: declared }: Operation, guard: Guard): URL {
  const { openapi, server_url } = section;
  const text = server_url ?? (declared && withVariables(declared));
  const server = text === undefined ? null : URL.parse(text, isUrl(openapi) ? openapi : undefined);
  if (!server || !/^https?:$/.test(server.protocol)) throw new Error("names no server URL; set server_url");
  if (server_url === undefined && isUrl(openapi) && server.origin !== new URL(openapi).origin)
    throw new Error(
      `names the server ${server.origin}, which is not its own origin; set server_url if that is intended`,
    );
  if (server.search !== "" || server.hash !== "" || server.username !== "" || server.password !== "")
    throw new Error("names a server URL with a query, fragment or user; set server_url without them");
  const host = server.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !mayConnect(host, networkFor(guard, host)))
    throw new Error(`names the server ${host}, which is blocked; see network and allow_hosts`);
  return server;
}

function withVariables(server: JsonObject): string | undefined {
  const { url, variables } = server;
  if (typeof url !== "string") return undefined;
  return url.replaceAll(/\{([^{}]+)\}/g, (written, name: string) => {
    const variable: JsonValue | undefined = isJsonObject(variables) ? variables[name] : undefined;
    const value = isJsonObject(variable) ? variable["default"] : undefined;
    return typeof value === "string" ? value : written;
  });
}
