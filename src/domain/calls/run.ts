import type { ErrorCode } from "../core/errors.ts";
import type { MicroUsd } from "../core/money.ts";

/** active -> completed | failed | cancelled; the last three are final. */
export type RunStatus = "active" | "completed" | "failed" | "cancelled";

/** How a call ended for its caller. Failed code is a result: its run is completed and charged. */
export type CallOutcome = "succeeded" | "failed" | "timeout" | "limit" | "cancelled";

/** Why a run failed. */
export interface RunError {
  code: ErrorCode;
  message: string;
}

/** One execution of a tool (specification 2.6). */
export interface Run {
  runId: string;
  tool: string;
  status: RunStatus;
  stepId: string | undefined;
  /** Price that was held. */
  quoted: MicroUsd;
  /** What was charged; 0n unless completed. */
  spent: MicroUsd;
  receiptId: string | undefined;
  error: RunError | undefined;
  /** Model that answered a chat, as its stored result says; undefined in lists. */
  model: string | undefined;
  createdAt: Date;
  startedAt: Date | undefined;
  endedAt: Date | undefined;
}
