import type { Caller } from "../domain/caller.ts";
import type { Random } from "../domain/clock.ts";
import type { Memo } from "../domain/memo.ts";
import type { ProgressListener } from "../domain/tool.ts";
import type { ClientInfo } from "./authentication.ts";
import type { Header } from "./header.ts";
import type { SettlementReport } from "./x402/settlement.ts";

/** What a service knows of a request besides its message, whichever door it came through. */
export interface RequestContext {
  /** Who calls; undefined where no key is asked for and none was sent. */
  readonly caller: Caller | undefined;
  /** `req_…` */
  readonly requestId: string;
  /** Aborts when the caller has gone away or its deadline has passed. */
  readonly signal: AbortSignal;
  /** X-Payment, header or metadata, as sent. */
  readonly xPayment: string | undefined;
  /** PAYMENT-SIGNATURE (x402 v2, HTTP transport), as sent. */
  readonly paymentSignature?: string | undefined;
  /** `_meta["x402/payment"]` (x402 v2, MCP transport), as sent; undefined elsewhere. */
  readonly metaPayment?: unknown;
  /** Path of the request, e.g. `/mcp`: what x402 names as the paid resource. Undefined over gRPC and Connect. */
  readonly path?: string | undefined;
  /** Hears what became of the call's x402 payment, before its answer or failure; the door sends the header with either. */
  readonly onSettlement?: (told: SettlementReport) => void;
  /** Tells the caller how far a long call has come; undefined where nobody asked for it. */
  readonly progress?: ProgressListener | undefined;
  /** Idempotency-Key, header or metadata, as sent. */
  readonly idempotencyKey: string | undefined;
  /** Who is in front of the page; undefined at doors that serve none. */
  readonly client?: ClientInfo | undefined;
  /** Adds a header to the answer, e.g. a cookie; undefined at doors where none can be added. A failed call's answer goes without. */
  readonly addHeader?: (header: Header) => void;
  /** The memo form that a 402 answer of this door announces; both are accepted everywhere. */
  readonly memoForm: Memo["form"];
}

/** The context of a method that asks for a key. */
export interface KeyedContext extends RequestContext {
  readonly caller: Caller;
}

/** Hex digits of an identifier, and how many identifiers are drawn at once, because small draws are dear. */
const [DIGITS, BATCH] = [32, 128];

/** Gives out request identifiers: `req_` and 128 random bits in hex. */
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

/** A request identifier where few are needed. */
export function newRequestId(random: Random): string {
  return `req_${Buffer.from(random.bytes(DIGITS / 2)).toString("hex")}`;
}
