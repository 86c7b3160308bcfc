import { ProtocolError, SdkHttpError, type CallToolResult, type Tool } from "@modelcontextprotocol/client";
import { ToolgateError } from "../../../domain/errors.ts";
import type { JsonObject } from "../../../domain/json.ts";
import {
  ResponseTooLongError,
  neverConnected,
  openGuardedFetch,
  type OpenFetch,
} from "../../../outbound/guarded-fetch.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendCall, BackendDescription } from "../backend.ts";
import { callFailed, unavailable, failedAfterWork } from "../failure.ts";
import { omitted } from "../omitted.ts";
import { McpConnection } from "./mcp-connection.ts";
import { ServerBusyError } from "./server-busy.ts";
import type { McpSection } from "./section.ts";
import { resultOf, textOf } from "./tool-result.ts";
import { inputSchemaOf } from "./tool-schema.ts";

/** Longest answer that is read while a server describes itself, bytes: a list of all its tools. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

/** A call as a connection takes it. */
type Call = Parameters<McpConnection["call"]>[0];

/** One tool of an MCP server as a tool. */
export class McpBackend implements Backend {
  readonly #options: BackendOptions<McpSection>;
  readonly #fetch: OpenFetch;
  #tool: Tool | undefined;
  #connection: Promise<McpConnection> | undefined;

  constructor(options: BackendOptions<McpSection>) {
    this.#options = options;
    this.#fetch = openGuardedFetch({ ...options.guard, maxBytes: options.maxResponseBytes });
  }

  async describe(signal: AbortSignal): Promise<BackendDescription> {
    const tool = await this.#find(signal);
    return { description: tool.description ?? tool.title, inputSchema: inputSchemaOf(tool) };
  }

  async call(params: JsonObject, { signal, idempotencyKey }: BackendCall): Promise<JsonObject> {
    const { tool: name, maxResponseBytes } = this.#options;
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    const result = await this.#find(signal)
      .then((tool) => this.#once({ tool, params, headers, signal }))
      .catch((error: unknown) => {
        throw this.#failure(error, signal);
      });
    if (!result) return omitted("too_long", `the answer is longer than ${maxResponseBytes} bytes`, null);
    if (result.isError === true)
      throw callFailed(
        name,
        "the server says that the call failed",
        new Error(textOf(result).slice(0, 2_000)),
      );
    return resultOf(result);
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.then((one) => one.close()).catch(() => {});
    await this.#fetch.close();
  }

  /** Asked once, over a connection of its own: a list of tools may be far longer than an answer. */
  async #find(signal: AbortSignal): Promise<Tool> {
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

  /** Undefined: the answer is too long. */
  async #once(call: Call): Promise<CallToolResult | undefined> {
    const connection = await this.#connect(call.signal);
    try {
      return await connection.call(call);
    } catch (error) {
      // A call that was given up says nothing of the session, whose end would take the server's notice of it along.
      const kept = call.signal.aborted || error instanceof ServerBusyError || error instanceof ProtocolError;
      // What the server still knows of the session is no longer known here.
      if (!kept) await this.#drop(connection);
      if (kept || !connection.hasSession || !isSessionExpired(error))
        return this.#resultOfFailure(error, call);
    }
    // The server has forgotten the session and so cannot have looked at the call (MCP, basic/transports, session management).
    const another = await this.#connect(call.signal);
    return another.call(call).catch((error: unknown) => this.#resultOfFailure(error, call));
  }

  /** Undefined: the answer is too long. @throws ToolgateError for every other end of a call that was sent */
  #resultOfFailure(error: unknown, { signal }: Call): undefined {
    if (!signal.aborted && causeOf(error, ResponseTooLongError)) return undefined;
    if (signal.aborted || !mayHaveWorked(error)) throw this.#failure(error, signal);
    throw failedAfterWork(this.#options.tool, "the server did not answer the call", error);
  }

  /** The connection that is there, or a new one. */
  async #connect(signal: AbortSignal): Promise<McpConnection> {
    const { section, headers } = this.#options;
    const another = this.#connection !== undefined;
    this.#connection ??= McpConnection.open(section.url, this.#fetch.fetch, headers, signal);
    const connecting = this.#connection;
    try {
      return await connecting;
    } catch (error) {
      if (this.#connection === connecting) this.#connection = undefined;
      // It may have been given up along with the call that began it.
      if (another && !signal.aborted) return this.#connect(signal);
      throw error;
    }
  }

  async #drop(connection: McpConnection): Promise<void> {
    const current = await this.#connection?.catch(() => undefined);
    if (current === connection) this.#connection = undefined;
    await connection.close();
  }

  #failure(error: unknown, signal: AbortSignal): ToolgateError {
    const { tool, timeoutMs } = this.#options;
    if (error instanceof ToolgateError) return error;
    if (signal.aborted)
      return failedAfterWork(tool, `the server did not answer within ${timeoutMs / 1000} s`, error);
    const patience = causeOf(error, ServerBusyError);
    if (patience) return unavailable(tool, "the server is not available", patience.retryAfterSeconds, error);
    return callFailed(tool, "the server did not answer the call", error);
  }
}

/** Whether a call that was sent may have been done: not where the server was not reached, refused it, or reported an error. */
function mayHaveWorked(error: unknown): boolean {
  if (neverConnected(error) || causeOf(error, ServerBusyError) || error instanceof SdkHttpError) return false;
  if (!(error instanceof ProtocolError)) return true;
  return error.data instanceof Error || /the stream ended before|output schema/.test(error.message);
}

/** HTTP 404 to a request with a session: the server has ended it. */
function isSessionExpired(error: unknown): boolean {
  return error instanceof SdkHttpError && error.status === 404;
}

/** What lies behind an error, if it is of this kind; what broke a stream is the data of an error of ours, which no server can send. */
function causeOf<Kind extends Error>(error: unknown, kind: new (...args: never[]) => Kind): Kind | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 8; depth += 1) {
    if (one instanceof kind) return one;
    one = one instanceof ProtocolError && one.data instanceof Error ? one.data : one.cause;
  }
  return undefined;
}
