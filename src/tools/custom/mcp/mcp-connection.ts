import { setTimeout as wait } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/client";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { RequestTransport } from "./request-transport.ts";
import { outputCheck, requireOutput, toolIn, toolPage, type McpTool } from "./tool-schema.ts";
import { wholeResult, type WholeResult } from "./whole-content.ts";
import { z } from "zod";

const MAX_PAGES = 64;

/** Signals enforce the time limits; this is the longest timer. */
const NO_LIMIT_MS = 2 ** 31 - 1;

const SESSION_END_TIMEOUT_MS = 1_000;

export interface ToolCall {
  readonly tool: McpTool;
  readonly params: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** `_meta` of the call: the trace that it belongs to. */
  readonly meta?: Readonly<Record<string, string>> | undefined;
}

/** A session with an MCP server, or a sessionless equivalent in newer revisions. */
export class McpConnection {
  readonly #client: Client;
  readonly #transport: RequestTransport;
  #calls = 0;
  #closing = false;

  private constructor(client: Client, transport: RequestTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  /** Negotiates the newest common revision, without client capabilities (sampling, roots, elicitation). */
  static async open(
    url: string,
    fetch: Fetch,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<McpConnection> {
    const transport = new RequestTransport(new URL(url), fetch, headers);
    const client = new Client(
      { name: "toolgate", version: "1.0.0" },
      {
        capabilities: {},
        versionNegotiation: { mode: "auto" },
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: outputCheck(),
      },
    );
    try {
      await client.connect(transport, { signal, timeout: NO_LIMIT_MS });
    } catch (error) {
      await client.close().catch(() => {});
      throw error;
    }
    transport.forgetAnswered();
    return new McpConnection(client, transport);
  }

  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** @throws Error with a message for the operator */
  async find(name: string, signal: AbortSignal): Promise<McpTool | undefined> {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const options = { signal, timeout: NO_LIMIT_MS };
      const page = await this.#client.request({ method: "tools/list", params }, toolPage, options);
      const found = toolIn(page, name);
      if (found || !page.nextCursor) return found;
      cursor = page.nextCursor;
    }
    throw new Error(`the server's list of tools has more than ${MAX_PAGES} pages`);
  }

  /** Sends one call. Passing the definition keeps the client from sending a second request for it. */
  async call(call: ToolCall): Promise<WholeResult> {
    const { tool, params, headers, signal, meta } = call;
    const request = { name: tool.name, arguments: params, ...(meta && { _meta: { ...meta } }) };
    this.#calls += 1;
    try {
      if (tool.needsTask) return await this.#callAsTask(request, call);
      const options = { signal, timeout: NO_LIMIT_MS, headers, toolDefinition: tool };
      return wholeResult(await this.#client.callTool(request, options));
    } finally {
      this.#calls -= 1;
      if (this.#closing && this.#calls === 0) await this.#closeNow();
    }
  }

  /** MCP 2025-11-25, basic/utilities/tasks: `tasks/result` answers when the task has ended. */
  async #callAsTask(request: object, { tool, headers, signal }: ToolCall): Promise<WholeResult> {
    const options = { signal, timeout: NO_LIMIT_MS, headers };
    const params = { ...request, task: {} };
    const { task } = await this.#client.request({ method: "tools/call", params }, startedTask, options);
    const { taskId } = task;
    try {
      const wait = { signal, timeout: NO_LIMIT_MS };
      const ended = await this.#client.request(
        { method: "tasks/result", params: { taskId } },
        taskResult,
        wait,
      );
      requireOutput(tool, ended);
      return wholeResult(ended);
    } catch (error) {
      if (signal.aborted) this.#cancelTask(taskId);
      throw error;
    }
  }

  /** If it fails, the task runs until the server's own limit. */
  #cancelTask(taskId: string): void {
    const request = { method: "tasks/cancel", params: { taskId } };
    void this.#client.request(request, z.unknown()).catch(() => {});
  }

  /** Closes the connection after its last call. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#calls === 0) await this.#closeNow();
  }

  /** Ends the session on the server, with a short time limit. */
  async #closeNow(): Promise<void> {
    const ended = this.#transport.terminateSession().catch(() => {});
    await Promise.race([ended, wait(SESSION_END_TIMEOUT_MS, undefined, { ref: false })]);
    await this.#client.close().catch(() => {});
  }
}

const startedTask = z.object({ task: z.object({ taskId: z.string() }) });

const taskResult = z.object({
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
});
