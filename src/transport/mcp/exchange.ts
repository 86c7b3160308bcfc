import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { RequestRecord } from "../../app/operations/request-record.ts";
import type { RateDecision } from "../../domain/accounts/rate-limit.ts";
import type { ProgressListener } from "../../domain/tools/tool.ts";
import type { Failure } from "../error-details.ts";
import { EventStream } from "../http/event-stream.ts";
import type { JsonExchange } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import { rateLimitHeaders } from "../headers.ts";
import type { RequestContext } from "../request-context.ts";
import type { Settlement, SettlementReport } from "../x402/settlement.ts";

/** Accept values that allow events (RFC 9110 section 12.5.1). */
const EVENTS = /text\/event-stream|text\/\*|\*\/\*/i;

/** `Prefer: payment=in-band` (RFC 7240 section 2), alone or among other preferences. */
const IN_BAND = /(?:^|,)\s*payment\s*=\s*(?:in-band|"in-band")\s*(?:[;,]|$)/i;

/** Token of progress notifications (MCP, Progress). */
export type ProgressToken = string | number;

interface ExchangeParts {
  readonly http: JsonExchange;
  readonly body: unknown;
  readonly context: RequestContext;
  /** Builds the plain HTTP response of a failure. */
  readonly failed: (failure: Failure) => HttpResponse;
}

/** One POST to the MCP endpoint and its response. */
export class McpExchange {
  readonly body: unknown;
  readonly context: RequestContext;
  readonly failed: (failure: Failure) => HttpResponse;
  readonly #http: JsonExchange;
  /** Of the request, or of the current message of a batch. */
  record: RequestRecord;
  #stream: EventStream | undefined;
  #settlement: Settlement | undefined;

  constructor({ http, body, context, failed }: ExchangeParts) {
    this.#http = http;
    this.record = http.record;
    this.body = body;
    this.context = context;
    this.failed = failed;
  }

  get request(): IncomingMessage {
    return this.#http.request;
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  /** MCP-Protocol-Version as sent; repeats are joined and so match no revision. */
  get version(): string | undefined {
    const version = this.headers["mcp-protocol-version"];
    return version === undefined ? undefined : String(version);
  }

  get isBatch(): boolean {
    return Array.isArray(this.body);
  }

  /** Whether the client wants payment requests as tool results: some hosts show their model nothing else. */
  get inBand(): boolean {
    const { prefer } = this.headers;
    return prefer !== undefined && IN_BAND.test(String(prefer));
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

  /** Replaces the rate limit headers. */
  setRateHeaders(rate: RateDecision | undefined): void {
    if (!rate) return;
    const { headers } = this.#http;
    const merged = new Map([...headers, ...rateLimitHeaders(rate)]);
    headers.splice(0, headers.length, ...merged);
  }

  /** The event stream; undefined until the first progress notification. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /**
   * Returns a sender of progress notifications; undefined when the response cannot be an event stream. The
   * first one opens the stream: until then an error keeps its HTTP status.
   */
  progressListener(progressToken: ProgressToken): ProgressListener | undefined {
    const { accept } = this.headers;
    if (this.isBatch || (accept !== undefined && !EVENTS.test(accept))) return undefined;
    let latest = Number.NEGATIVE_INFINITY;
    return ({ progress, total, message }) => {
      // MCP requires increasing values.
      if (!(progress > latest)) return;
      latest = progress;
      const params = {
        progressToken,
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      };
      this.#stream ??= new EventStream(this.#http.response, this.#http.headers);
      this.#stream.send({ jsonrpc: "2.0", method: "notifications/progress", params });
    };
  }
}
