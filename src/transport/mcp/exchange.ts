import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { RateDecision } from "../../domain/accounts/rate-limit.ts";
import type { Failure } from "../error-details.ts";
import type { Header } from "../header.ts";
import type { HttpResponse } from "../http/response.ts";
import { EventStream } from "../http/event-stream.ts";
import { rateLimitHeaders } from "../rate-limit-headers.ts";
import type { RequestContext } from "../request-context.ts";
import type { Settlement, SettlementReport } from "../x402/settlement.ts";
import { prefersInBand } from "./payment-in-band.ts";

/** Accept values that allow events (RFC 9110 section 12.5.1). */
const EVENTS = /text\/event-stream|text\/\*|\*\/\*/i;

interface ExchangeParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly context: RequestContext;
  /** Headers of the response. */
  readonly responseHeaders: Header[];
  /** Builds the plain HTTP response of a failure. */
  readonly failed: (failure: Failure) => HttpResponse;
}

/** One POST to the MCP endpoint and its response. */
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

  /** MCP-Protocol-Version as sent; repeats are joined and so match no revision. */
  get version(): string | undefined {
    const version = this.headers["mcp-protocol-version"];
    return version === undefined ? undefined : String(version);
  }

  /** Whether the response may be an event stream: not for clients that accept JSON only, nor for batches. */
  get acceptsEvents(): boolean {
    const { accept } = this.headers;
    return !this.isBatch && (accept === undefined || EVENTS.test(accept));
  }

  get isBatch(): boolean {
    return Array.isArray(this.body);
  }

  /** Outcome of the current call's x402 payment. */
  get settlement(): Settlement | undefined {
    return this.#settlement;
  }

  /** Each call of a batch has its own payment. */
  clearSettlement(): void {
    this.#settlement = undefined;
  }

  /** Records the outcome. The header has room for one call only. */
  settled(report: SettlementReport): void {
    this.#settlement = report.settlement;
    if (!this.isBatch) this.context.onSettlement?.(report);
  }

  /** Whether the client wants payment requests as tool results. */
  get inBand(): boolean {
    return prefersInBand(this.headers.prefer);
  }

  /** The event stream; undefined until it is opened. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /** Replaces the rate limit headers. */
  setRateHeaders(rate: RateDecision | undefined): void {
    if (!rate) return;
    const merged = new Map([...this.#responseHeaders, ...rateLimitHeaders(rate)]);
    this.#responseHeaders.splice(0, this.#responseHeaders.length, ...merged);
  }

  /** Opens the event stream once. */
  openStream(): EventStream {
    this.#stream ??= new EventStream(this.#response, this.#responseHeaders);
    return this.#stream;
  }
}
