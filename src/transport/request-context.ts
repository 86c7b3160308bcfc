import type { Caller } from "../domain/accounts/caller.ts";
import type { Random } from "../domain/core/clock.ts";
import type { Memo } from "../domain/payments/memo.ts";
import type { ProgressListener } from "../domain/tools/tool.ts";
import type { ClientInfo } from "./authentication.ts";
import type { Header } from "./headers.ts";
import type { SettlementReport } from "./x402/settlement.ts";

/** A service's context of a request besides its message, on every transport. */
export interface RequestContext {
  /** Undefined when no key is required and none was sent. */
  readonly caller: Caller | undefined;
  /** `req_…` */
  readonly requestId: string;
  /** Aborts when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal;
  /** X-Payment header or metadata, as sent. */
  readonly xPayment: string | undefined;
  /** PAYMENT-SIGNATURE (x402 v2, HTTP transport), as sent. */
  readonly paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport), as sent; undefined elsewhere. */
  readonly metaPayment?: unknown;
  /** Path of the request, such as `/mcp`: the paid resource in x402. Undefined over gRPC and Connect. */
  readonly path?: string | undefined;
  /** Receives the outcome of the x402 payment before the response; the transport sends the header with it. */
  readonly onSettlement?: (report: SettlementReport) => void;
  /** Reports progress of a long call; undefined when not requested. */
  readonly progress?: ProgressListener | undefined;
  /** Idempotency-Key header or metadata, as sent. */
  readonly idempotencyKey: string | undefined;
  /** The browser; undefined on transports without pages. */
  readonly client?: ClientInfo | undefined;
  /** Adds a header to a successful response, such as a cookie; undefined when the transport cannot. */
  readonly addHeader?: (header: Header) => void;
  /** Memo form that this transport's 402 responses announce; all transports accept both. */
  readonly memoForm: Memo["form"];
}

/** The context of a method that requires a key. */
export interface KeyedContext extends RequestContext {
  readonly caller: Caller;
}

/** Hex digits of an id, and the ids generated per batch: small random reads are slow. */
const [DIGITS, BATCH] = [32, 128];

/** Generates request ids: `req_` and 128 random bits in hex. */
export class RequestIds {
  readonly #random: Random;
  #drawn = "";
  #used = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  next(): string {
    if (this.#used === this.#drawn.length) {
      this.#drawn = Buffer.from(this.#random.bytes((BATCH * DIGITS) / 2)).toString("hex");
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += DIGITS;
    return `req_${this.#drawn.slice(from, this.#used)}`;
  }
}

/** Generates one request id, for handlers with few requests. */
export function newRequestId(random: Random): string {
  return `req_${Buffer.from(random.bytes(DIGITS / 2)).toString("hex")}`;
}
