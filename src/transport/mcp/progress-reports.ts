import type { Progress } from "../../domain/tool.ts";
import type { McpExchange } from "./exchange.ts";
import type { ProgressToken } from "./tool-call.ts";

/**
 * Tells a caller how far its call has come (MCP, Progress). The answer becomes a stream of events with the first report and not before:
 * until a tool begins its work a refusal keeps its own HTTP status.
 */
export class ProgressReports {
  readonly #token: ProgressToken;
  readonly #exchange: McpExchange;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(token: ProgressToken, exchange: McpExchange) {
    this.#token = token;
    this.#exchange = exchange;
  }

  /** What does not go on is not told: each report must say more than the one before. */
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
