import type { TraceContext } from "../domain/core/span.ts";

/** W3C Trace Context, "traceparent Header Field Values": version, trace, parent and flags. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]([0-9a-f])(?:-.*)?$/;

/** Longest tracestate that is passed on, characters, and its members (W3C Trace Context, section 3.3). */
const [MAX_STATE, MAX_MEMBERS] = [512, 32];

const MEMBER = /^[a-z0-9][\w*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** The step of a caller that a request belongs to. */
export interface Parent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  /** As sent. */
  readonly state: string;
}

/** Returns the caller's step; undefined if none was sent, or it is malformed. */
export function parentOf({ traceparent = "", tracestate = "" }: TraceContext): Parent | undefined {
  if (traceparent === "") return undefined;
  const [, traceId, spanId, flags = ""] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1, state: tracestate };
}

/** Returns the well-formed members of a tracestate. */
export function stateOf(sent: string): string {
  if (sent === "" || sent.length > MAX_STATE) return "";
  const members = sent.split(",").map((member) => member.trim());
  return members
    .filter((member) => MEMBER.test(member))
    .slice(0, MAX_MEMBERS)
    .join(",");
}
