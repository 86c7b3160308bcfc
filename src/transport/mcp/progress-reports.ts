import type { Progress } from "../../domain/tool.ts";
import type { EventStream } from "../http/event-stream.ts";
import type { ProgressToken } from "./tool-call.ts";

/**
 * Tells a caller how far its call has come (MCP, Progress). The answer becomes a stream of events with the first report and not before:
 * until a tool begins its work a refusal keeps its own HTTP status.
 */
export class ProgressReports {
  readonly #token: ProgressToken;
  readonly #open: () => EventStream;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(token: ProgressToken, open: () => EventStream) {
    this.#token = token;
    this.#open = open;
  }

  /** What does not go on is not told: each report must say more than the one before. */
  readonly listener = ({ progress, total, message }: Progress): void => {
    if (!(progress > this.#latest)) return;
    this.#latest = progress;
    this.#open().send({
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
