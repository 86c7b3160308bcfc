import type { ServerHttp2Stream } from "node:http2";
import type { status } from "@grpc/grpc-js";

export interface OpenCall {
  /** Place among the open calls; undefined when it is none of them. */
  place: number | undefined;
  readonly stream: ServerHttp2Stream;
  /** Whether either side streams messages. */
  readonly streaming: boolean;
  /** Whether the whole request has arrived. */
  requested: boolean;
  waitsFor: "request" | "gateway" | "reader";
  /** Start of the wait, ms; monotonic. */
  since: number;
  sendStatus(ended: { readonly code: status; readonly details: string }): void;
}

export function markWaiting(open: OpenCall, waitsFor: OpenCall["waitsFor"]): void {
  open.waitsFor = waitsFor;
  open.since = performance.now();
}
