import type { Progress } from "../../domain/tools/tool.ts";
import type { McpExchange } from "./exchange.ts";
import type { ProgressToken } from "./tool-call.ts";

/**
 * Sends progress notifications (MCP, Progress). The first one opens the event stream: until then an error
 * keeps its HTTP status.
 */
export class ProgressReports {
  readonly #token: ProgressToken;
  readonly #exchange: McpExchange;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(token: ProgressToken, exchange: McpExchange) {
    this.#token = token;
    this.#exchange = exchange;
  }

  /** Drops reports without progress: MCP requires increasing values. */
  readonly listener = ({ progress, total, message }: Progress): void => {
    if (!(progress > this.#latest)) return;
    this.#latest = progress;
    this.#exchange.openStream().send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: {
        progressToken: this.#token,
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      },
    });
  };
}
