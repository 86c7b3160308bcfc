import { ProtocolError, SdkHttpError, type Tool } from "@modelcontextprotocol/client";
import type { ToolgateError } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { AnswerTooLongError, openGuardedFetch, type OpenFetch } from "../../outbound/guarded-fetch.ts";
import type { BackendOptions } from "../backend-options.ts";
import type { Backend, BackendCall, BackendDescription } from "../backend.ts";
import { failed, unavailable } from "../failure.ts";
import { McpConnection } from "./mcp-connection.ts";
import { PatienceError } from "./patience.ts";
import type { McpSection } from "./section.ts";
import { resultOf, textOf } from "./tool-result.ts";
import { inputSchemaOf } from "./tool-schema.ts";

/** Longest answer that is read while a server describes itself, bytes: a list of all its tools. */
const MOST_LIST_BYTES = 8 * 1024 * 1024;

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

  async call(params: JsonObject, { signal, runId }: BackendCall): Promise<JsonObject> {
    const { tool: name } = this.#options;
    const headers = runId === undefined ? {} : { "idempotency-key": runId };
    const result = await this.#find(signal)
      .then((tool) => this.#once({ tool, params, headers, signal }))
      .catch((error: unknown) => {
        throw this.#failure(error, signal);
      });
    if (result.isError === true)
      throw failed(name, "the server says that the call failed", new Error(textOf(result).slice(0, 2_000)));
    return resultOf(result);
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.then((one) => one.retire()).catch(() => {});
    await this.#fetch.close();
  }

  /** Asked once, over a connection of its own: a list of tools may be far longer than an answer. */
  async #find(signal: AbortSignal): Promise<Tool> {
    if (this.#tool) return this.#tool;
    const { section, headers, guard } = this.#options;
    const fetch = openGuardedFetch({ ...guard, maxBytes: MOST_LIST_BYTES });
    try {
      const connection = await McpConnection.open(section.url, fetch.fetch, headers, signal);
      const tool = await connection.find(section.tool, signal);
      await connection.retire();
      if (!tool) throw new Error(`the server ${section.url} has no tool ${section.tool}`);
      this.#tool = tool;
      return tool;
    } finally {
      await fetch.close();
    }
  }

  async #once(call: Parameters<McpConnection["call"]>[0]) {
    const connection = await this.#connect(call.signal);
    try {
      return await connection.call(call);
    } catch (error) {
      // A call that was given up says nothing of the session, whose end would take the server's notice of it along.
      if (call.signal.aborted || error instanceof PatienceError || error instanceof ProtocolError) throw error;
      // What the server still knows of the session is no longer known here.
      await this.#drop(connection);
      if (!connection.hasSession || !forgotSession(error)) throw error;
    }
    // The server has forgotten the session and so cannot have looked at the call (MCP, basic/transports, session management).
    const another = await this.#connect(call.signal);
    return another.call(call);
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
    await connection.retire();
  }

  #failure(error: unknown, signal: AbortSignal): ToolgateError {
    const { tool, timeoutMs, maxResponseBytes } = this.#options;
    if (signal.aborted) return failed(tool, `the server did not answer within ${timeoutMs / 1000} s`, error);
    const patience = causeOf(error, PatienceError);
    if (patience) return unavailable(tool, "the server is not available", patience.retryAfterSeconds, error);
    if (causeOf(error, AnswerTooLongError))
      return failed(tool, `the server's answer is longer than ${maxResponseBytes} bytes`, error);
    return failed(tool, "the server did not answer the call", error);
  }
}

/** HTTP 404 to a request with a session: the server has ended it. */
function forgotSession(error: unknown): boolean {
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
