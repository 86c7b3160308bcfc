import { setTimeout as wait } from "node:timers/promises";
import { Client, type CallToolResult, type Tool } from "@modelcontextprotocol/client";
import type { Fetch } from "../../../outbound/guarded-fetch.ts";
import { outputCheck } from "./output-check.ts";
import { RequestTransport } from "./request-transport.ts";

/** More pages than any list of tools has. */
const MAX_PAGES = 64;

/** Time limits are the signals' alone; this is the longest that a timer can be set to, ms. */
const NO_LIMIT_MS = 2 ** 31 - 1;

/** How long a server may take to hear that its session has ended, ms. */
const SESSION_END_TIMEOUT_MS = 1_000;

/** What a tool is called with. */
export interface ToolCall {
  readonly tool: Tool;
  readonly params: Record<string, unknown>;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A session with an MCP server, or what stands for one in revisions that have none. */
export class McpConnection {
  readonly #client: Client;
  readonly #transport: RequestTransport;
  #calls = 0;
  #closing = false;

  private constructor(client: Client, transport: RequestTransport) {
    this.#client = client;
    this.#transport = transport;
  }

  /** Agrees with the server on the newest revision that both know. It may ask for nothing: no sampling, no roots, no elicitation. */
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

  /** Whether the server keeps a session for it, which it may forget. */
  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** The tool of that name; undefined when the server has none. */
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

  /** Sends a call, once: the definition is given along so that the client asks for no other and sends no second. */
  async call({ tool, params, headers, signal }: ToolCall): Promise<CallToolResult> {
    this.#calls += 1;
    try {
      return await this.#client.callTool(
        { name: tool.name, arguments: params },
        { signal, timeout: NO_LIMIT_MS, headers, toolDefinition: tool },
      );
    } finally {
      this.#calls -= 1;
      if (this.#closing && this.#calls === 0) await this.#closeNow();
    }
  }

  /** Ends it as soon as its last call has ended. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#calls === 0) await this.#closeNow();
  }

  /** Servers keep sessions until they are told, which is not waited for long. */
  async #closeNow(): Promise<void> {
    const told = this.#transport.terminateSession().catch(() => {});
    await Promise.race([told, wait(SESSION_END_TIMEOUT_MS, undefined, { ref: false })]);
    await this.#client.close().catch(() => {});
  }
}
