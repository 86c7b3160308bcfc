import { setTimeout as wait } from "node:timers/promises";
import { Client, type CallToolResult, type Tool } from "@modelcontextprotocol/client";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { outputCheck } from "./tool-schema.ts";
import { RequestTransport } from "./request-transport.ts";

const MAX_PAGES = 64;

/** Signals enforce the time limits; this is the longest timer. */
const NO_LIMIT_MS = 2 ** 31 - 1;

const SESSION_END_TIMEOUT_MS = 1_000;

export interface ToolCall {
  readonly tool: Tool;
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

  async find(name: string, signal: AbortSignal): Promise<Tool | undefined> {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const options = { signal, timeout: NO_LIMIT_MS };
      const { tools, nextCursor } = await this.#client.request({ method: "tools/list", params }, options);
      const found = tools.find((tool) => tool.name === name);
      if (found || nextCursor === undefined) return found;
      cursor = nextCursor;
    }
    throw new Error(`the server's list of tools has more than ${MAX_PAGES} pages`);
  }

  /** Sends one call. Passing the definition keeps the client from sending a second request for it. */
  async call({ tool, params, headers, signal, meta }: ToolCall): Promise<CallToolResult> {
    this.#calls += 1;
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: params, ...(meta && { _meta: { ...meta } }) },
        { signal, timeout: NO_LIMIT_MS, headers, toolDefinition: tool },
      );
    } finally {
      this.#calls -= 1;
      if (this.#closing && this.#calls === 0) await this.#closeNow();
    }
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
