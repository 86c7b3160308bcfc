import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { RateDecision } from "../../domain/rate-limit.ts";
import type { Failure } from "../error-details.ts";
import type { Header } from "../header.ts";
import type { HttpResponse } from "../http/response.ts";
import { EventStream } from "../http/event-stream.ts";
import { rateLimitHeaders } from "../rate-limit-headers.ts";
import type { RequestContext } from "../request-context.ts";
import type { Settlement, SettlementReport } from "../x402/settlement.ts";
import { prefersInBand } from "./payment-in-band.ts";

/** Accept that lets events through (RFC 9110 section 12.5.1). */
const EVENTS = /text\/event-stream|text\/\*|\*\/\*/i;

/** What an exchange stands on. */
interface ExchangeParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly context: RequestContext;
  /** What every answer to this request carries. */
  readonly responseHeaders: Header[];
  /** Makes the plain HTTP answer of a failure. */
  readonly failed: (failure: Failure) => HttpResponse;
}

/** One POST to the MCP endpoint, and the way back. */
export class McpExchange {
  readonly body: unknown;
  readonly context: RequestContext;
  readonly headers: IncomingHttpHeaders;
  readonly request: IncomingMessage;
  readonly failed: (failure: Failure) => HttpResponse;
  readonly #response: ServerResponse;
  readonly #responseHeaders: Header[];
  #stream: EventStream | undefined;
  #settlement: Settlement | undefined;

  constructor({ request, response, body, context, responseHeaders: answerHeaders, failed }: ExchangeParts) {
    this.request = request;
    this.headers = request.headers;
    this.body = body;
    this.context = context;
    this.failed = failed;
    this.#response = response;
    this.#responseHeaders = answerHeaders;
  }

  /** MCP-Protocol-Version, as sent: joined, and so of no revision, when it was sent more than once. */
  get version(): string | undefined {
    const version = this.headers["mcp-protocol-version"];
    return version === undefined ? undefined : String(version);
  }

  /** Whether the answer can be a stream of events: not for a caller that says it reads JSON only, nor for a batch. */
  get acceptsEvents(): boolean {
    const { accept } = this.headers;
    return !this.isBatch && (accept === undefined || EVENTS.test(accept));
  }

  /** Whether several messages came at once. */
  get isBatch(): boolean {
    return Array.isArray(this.body);
  }

  /** What became of the x402 payment of the call that is answered. */
  get settlement(): Settlement | undefined {
    return this.#settlement;
  }

  /** The next call of a batch has a payment of its own. */
  clearSettlement(): void {
    this.#settlement = undefined;
  }

  /** Hears of it. The header has room for one call only. */
  settled(told: SettlementReport): void {
    this.#settlement = told.settlement;
    if (!this.isBatch) this.context.onSettlement?.(told);
  }

  /** Whether the caller wants to be asked for money by results of tools. */
  get inBand(): boolean {
    return prefersInBand(this.headers.prefer);
  }

  /** The answer as a stream of events; undefined as long as it is none. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /** What is left of the key's rate after one more request, in place of what was left before. */
  setRateHeaders(rate: RateDecision | undefined): void {
    if (!rate) return;
    const told = new Map([...this.#responseHeaders, ...rateLimitHeaders(rate)]);
    this.#responseHeaders.splice(0, this.#responseHeaders.length, ...told);
  }

  /** Makes the answer a stream of events, if it is none yet. */
  openStream(): EventStream {
    this.#stream ??= new EventStream(this.#response, this.#responseHeaders);
    return this.#stream;
  }
}
