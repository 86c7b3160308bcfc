import { ProtocolError, SdkHttpError } from "@modelcontextprotocol/client";
import { ToolgateError } from "../../../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import { neverConnected, openGuardedFetch, type OpenFetch } from "../../../outbound/guarded-fetch.ts";
import { ResponseTooLongError } from "../../../outbound/server-answer.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendAnswer, BackendCall, BackendDescription } from "../backend.ts";
import { wordsIn } from "../../../outbound/error-words.ts";
import { callFailed, unavailable, failedAfterWork, refusedCall } from "../failure.ts";
import { secretsOfHeader } from "../headers.ts";
import { omitted } from "../omitted.ts";
import { McpConnection } from "./mcp-connection.ts";
import { ServerBusyError } from "./server-busy.ts";
import type { McpTool } from "./tool-schema.ts";
import type { WholeResult } from "./whole-content.ts";
import type { Target } from "../settings.ts";

/** Bytes, for tools/list. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

/** JSON-RPC, section 5.1. */
const INVALID_PARAMS = -32_602;

type Call = Parameters<McpConnection["call"]>[0];

export class McpBackend implements Backend {
  readonly #options: BackendOptions<McpSection>;
  readonly #fetch: OpenFetch;
  #tool: McpTool | undefined;
  #connection: Promise<McpConnection> | undefined;

  constructor(options: BackendOptions<McpSection>) {
    this.#options = options;
    this.#fetch = openGuardedFetch({ ...options.guard, maxBytes: options.maxResponseBytes });
  }

  async describe(signal: AbortSignal): Promise<BackendDescription> {
    const { description, inputSchema } = await this.#find(signal);
    return { description, inputSchema };
  }

  forget(): void {
    this.#tool = undefined;
  }

  async call(params: JsonObject, { signal, idempotencyKey, span }: BackendCall): Promise<BackendAnswer> {
    const { maxResponseBytes } = this.#options;
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const result = await this.#find(signal)
      .then((tool) => this.#once({ tool, params, headers, signal, meta: span?.headers }))
      .catch((error: unknown) => {
        throw this.#failure(error, signal);
      });
    if (!result)
      return { result: omitted("too_long", `the answer is longer than ${maxResponseBytes} bytes`, null) };
    if (result.isError) throw this.#refused("the server reported that the call failed", textOf(result));
    const { meta } = result;
    return { result: resultOf(result), ...(meta && { meta }) };
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.then((one) => one.close()).catch(() => {});
    await this.#fetch.close();
  }

  /** Uses a connection of its own: tools/list may be much longer than a result. */
  async #find(signal: AbortSignal): Promise<McpTool> {
    if (this.#tool) return this.#tool;
    const { section, headers, guard } = this.#options;
    const fetch = openGuardedFetch({ ...guard, maxBytes: MAX_LIST_BYTES });
    try {
      const connection = await McpConnection.open(section.url, fetch.fetch, headers, signal);
      const tool = await connection.find(section.tool, signal);
      await connection.close();
      if (!tool) throw new Error(`the server ${section.url} has no tool ${section.tool}`);
      this.#tool = tool;
      return tool;
    } finally {
      await fetch.close();
    }
  }

  /** Returns undefined if the result exceeds the size limit. */
  async #once(call: Call): Promise<WholeResult | undefined> {
    const connection = await this.#connect(call.signal);
    try {
      return await connection.call(call);
    } catch (error) {
      // An aborted call implies nothing about the session. Closing it would also drop the cancel
      // notification.
      const kept = call.signal.aborted || error instanceof ServerBusyError || error instanceof ProtocolError;
      // The state of the session is unknown.
      if (!kept) await this.#drop(connection);
      if (kept || !connection.hasSession || !isSessionExpired(error))
        return this.#resultOfFailure(error, call);
    }
    // An expired session means that the server did not process the call (MCP, basic/transports, session
    // management).
    const another = await this.#connect(call.signal);
    return another.call(call).catch((error: unknown) => this.#resultOfFailure(error, call));
  }

  /** Returns undefined for a result over the size limit. @throws ToolgateError after sending */
  #resultOfFailure(error: unknown, { signal }: Call): undefined {
    if (!signal.aborted && causeOf(error, ResponseTooLongError)) return undefined;
    const isRefused = error instanceof ProtocolError && error.code === INVALID_PARAMS;
    if (!signal.aborted && isRefused && !mayHaveWorked(error))
      throw this.#refused("the server refused the params", error.message);
    if (signal.aborted || !mayHaveWorked(error)) throw this.#failure(error, signal);
    throw failedAfterWork(this.#options.tool, "the server did not answer the call", error);
  }

  async #connect(signal: AbortSignal): Promise<McpConnection> {
    const { section, headers } = this.#options;
    const another = this.#connection !== undefined;
    this.#connection ??= McpConnection.open(section.url, this.#fetch.fetch, headers, signal);
    const connecting = this.#connection;
    try {
      return await connecting;
    } catch (error) {
      if (this.#connection === connecting) this.#connection = undefined;
      // The other call may have been aborted while it connected.
      if (another && !signal.aborted) return this.#connect(signal);
      throw error;
    }
  }

  async #drop(connection: McpConnection): Promise<void> {
    const current = await this.#connection?.catch(() => undefined);
    if (current === connection) this.#connection = undefined;
    await connection.close();
  }

  #refused(what: string, words: string): ToolgateError {
    const { tool, headers } = this.#options;
    const secrets = Object.values(headers).flatMap(secretsOfHeader);
    return refusedCall(tool, what, wordsIn(words), { secrets, cause: new Error(words.slice(0, 2_000)) });
  }

  #failure(error: unknown, signal: AbortSignal): ToolgateError {
    const { tool, timeoutMs } = this.#options;
    if (error instanceof ToolgateError) return error;
    if (signal.aborted)
      return failedAfterWork(tool, `the server did not answer within ${timeoutMs / 1000} s`, error);
    const busy = causeOf(error, ServerBusyError);
    if (busy)
      return unavailable(tool, "the server is not available", busy.retryAfterSeconds, error, busy.status);
    return callFailed(tool, "the server did not answer the call", error);
  }
}

/** Whether the server may have performed the call: not if unreachable, refused or reported as failed. */
function mayHaveWorked(error: unknown): boolean {
  if (neverConnected(error) || causeOf(error, ServerBusyError) || error instanceof SdkHttpError) return false;
  if (!(error instanceof ProtocolError)) return true;
  return error.data instanceof Error || /the stream ended before|output schema/.test(error.message);
}

/** HTTP 404 to a request with a session id. */
function isSessionExpired(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** Finds an error of this type among the causes; the data of ProtocolError has what broke a stream. */
function causeOf<Kind extends Error>(error: unknown, kind: new (...args: never[]) => Kind): Kind | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; depth += 1) {
    if (one instanceof kind) return one;
    one = one instanceof ProtocolError && one.data instanceof Error ? one.data : one.cause;
  }
  return undefined;
}

/** Returns the structured content if it is an object; else the content blocks, their text, and any other. */
function resultOf({ structuredContent, content }: WholeResult): JsonObject {
  if (isJsonObject(structuredContent)) return structuredContent;
  const result: unknown = {
    content,
    text: textOf({ content }),
    ...(structuredContent !== undefined && { structuredContent }),
  };
  if (!isJsonObject(result)) throw new TypeError("is an object");
  return result;
}

/** Joins the text blocks with line breaks. */
function textOf({ content }: Pick<WholeResult, "content">): string {
  return content
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n");
}

export type McpSection = Extract<Target, { kind: "mcp" }>["section"];
