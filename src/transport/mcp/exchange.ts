import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecord } from "../../app/operations/request-record.ts";
import type { RateDecision } from "../../domain/accounts/caller.ts";
import type { ProgressListener } from "../../domain/tools/tool.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { rateLimitHeaders, type Header } from "../headers.ts";
import type { RequestContext } from "../request-context.ts";
import type { SettlementReport } from "../x402/settlement.ts";

/** Accept values that allow events (RFC 9110 section 12.5.1). */
const EVENTS = /text\/event-stream|text\/\*|\*\/\*/i;

/** `Prefer: payment=in-band` (RFC 7240 section 2), alone or among other preferences. */
const IN_BAND = /(?:^|,)\s*payment\s*=\s*(?:in-band|"in-band")\s*(?:[;,]|$)/i;

/** Token of progress notifications (MCP, Progress). */
export type ProgressToken = string | number;

/** An elicitation in URL mode (MCP 2025-11-25, Elicitation). */
export interface UrlElicitation {
  readonly mode: "url";
  readonly elicitationId: string;
  readonly url: string;
  readonly message: string;
}

/** One POST to the MCP endpoint and its response. */
export class McpExchange {
  readonly body: unknown;
  readonly context: RequestContext;
  readonly #http: HttpExchange;
  /** Of the request, or of the current message of a batch. */
  record: RequestRecord;
  #stream: EventStream | undefined;
  #settlement: SettlementReport["meta"] | undefined;
  /** The page that a client of 2025-11-25 is sent to; undefined unless the call failed for that. */
  elicitation: UrlElicitation | undefined;

  constructor(http: HttpExchange, body: unknown, context: RequestContext) {
    this.#http = http;
    this.record = http.record;
    this.body = body;
    this.context = context;
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

  /** Of the call's payment, for `_meta`. */
  get settlement(): SettlementReport["meta"] | undefined {
    return this.#settlement;
  }

  /** Each call of a batch has its own payment. */
  clearSettlement(): void {
    this.#settlement = undefined;
  }

  /** Records the outcome. The header has room for one call only. */
  settled(report: SettlementReport): void {
    this.#settlement = report.meta;
    if (!this.isBatch) this.context.onSettlement?.(report);
  }

  /** Sends a session identifier with the result of `initialize` (Streamable HTTP, session management). */
  openSession(id: string): void {
    this.#http.headers.push(["mcp-session-id", id]);
  }

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

  /** Returns a sender of progress, which opens the stream; undefined if there can be no stream. */
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

/** Interval of comments that keep proxies from closing a quiet stream, ms. */
const KEEP_ALIVE_MS = 15_000;

/** A response as server-sent events (HTML standard section 9.2); the last event is the result. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout;
  #bytes = 0;

  constructor(response: ServerResponse, headers: readonly Header[]) {
    this.#response = response;
    const raw = [
      "content-type",
      "text/event-stream",
      "cache-control",
      "no-store",
      "x-content-type-options",
      "nosniff",
    ];
    // Keeps reverse proxies from buffering small events.
    raw.push("x-accel-buffering", "no");
    for (const [name, value] of headers) raw.push(name, value);
    if (!response.destroyed) response.writeHead(200, raw);
    this.#keepAlive = setInterval(() => this.#write(": \n\n"), KEEP_ALIVE_MS);
    response.once("close", () => clearInterval(this.#keepAlive));
  }

  /** Sends an event; drops it when the client reads too slowly or has disconnected. */
  send(message: object): void {
    this.#write(eventText(message));
  }

  /** Sends the last event and ends the response. @returns characters of all events */
  end(answer: unknown): number {
    clearInterval(this.#keepAlive);
    const text = eventText(answer);
    if (!this.#response.writableEnded && !this.#response.destroyed) this.#response.end(text);
    return this.#bytes + text.length;
  }

  #write(text: string): void {
    const { writableEnded, destroyed, writableNeedDrain } = this.#response;
    if (!writableEnded && !destroyed && !writableNeedDrain) {
      this.#bytes += text.length;
      this.#response.write(text);
    }
  }
}

/** JSON contains no line breaks, which would end the event. */
function eventText(message: unknown): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
