import { createHash, hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { Caller } from "../accounts/caller.ts";
import type { Span } from "../core/span.ts";
import type { MicroUsd } from "../core/money.ts";
import type { AttachedTexts } from "../tools/chat.ts";
import type { CheckedFor, ProgressListener, ResultSink } from "../tools/tool.ts";
import { ToolgateError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";

export interface StartPayment {
  /** Transaction, as on the receipt. */
  readonly txSignature: string;
  readonly quoted: MicroUsd;
}

/** What a use case notes about the request of a call, for metrics, logs and traces. */
export interface CallRecord extends CheckedFor {
  caller: Caller | undefined;
  /** A name of the catalogue. */
  tool: string | undefined;
  runId: string | undefined;
  receiptId: string | undefined;
  /** Step of the whole request; undefined where nothing is traced. */
  span: Span | undefined;
  /** Time in the tool, ms. */
  toolMs: number;
  /** Whether the tool itself failed the call. */
  toolFailed: boolean;
  /** Time in which the payment was looked up, waited for and credited, ms. */
  paymentMs: number;
}

/** The context of a call that a transport passes to a use case. */
export interface CallContext<Who = Caller> {
  readonly caller: Who;
  /** `req_…`, or as a trusted proxy named it. */
  readonly requestId: string;
  /** Aborts when the caller disconnects or its deadline passes. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller; undefined unless requested. */
  readonly progress?: ProgressListener | undefined;
  /** Receives the result in parts; undefined: it is only returned. */
  readonly output?: ResultSink | undefined;
  readonly attached?: AttachedTexts | undefined;
  /** Called when the tool starts under its hold. */
  readonly onStart?: ((payment: StartPayment | undefined) => void) | undefined;
  readonly record?: CallRecord | undefined;
}

/**
 * Identifies a call: SHA-256 of the canonical JSON (RFC 8785) of `{params, tool}`, 32 bytes. Without proof
 * and key, so that the paid retry has the same fingerprint.
 * @throws ToolgateError INVALID_REQUEST for values without a canonical form: lone surrogates, numbers
 * beyond double (RFC 8785 section 3.2.2)
 */
export function fingerprint(tool: string, params: JsonObject): Buffer {
  // A digest as text is faster than as a buffer.
  return Buffer.from(hash("sha256", canonical({ params, tool }), "binary"), "latin1");
}

/** Returns the fingerprint of a call and of what the gateway chose for it, for a quote. */
export function withChoice(print: Buffer, choice: string | undefined): Buffer {
  return choice === undefined ? print : createHash("sha256").update(print).update(choice).digest();
}

function canonical(call: JsonObject): string {
  try {
    return canonicalize(call) ?? "";
  } catch (cause) {
    throw new ToolgateError(
      "INVALID_REQUEST",
      "params: must be JSON of well-formed Unicode and finite numbers",
      { cause },
    );
  }
}
