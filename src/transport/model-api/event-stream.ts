import type { ServerResponse } from "node:http";
import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonValue, textOf } from "../../domain/core/json.ts";
import type { ResultSink } from "../../domain/tools/tool.ts";
import type { Header } from "../headers.ts";

/** Interval at which something is sent, so that proxies do not close a quiet stream, ms. */
const KEEP_ALIVE_MS = 15_000;

/** How an API writes server-sent events. */
export interface StreamForm {
  /** Whether the events have the names that are their `type`. */
  readonly named: boolean;
  /** What is sent after a pause. */
  readonly keepAlive: string;
  /** What follows the last event. */
  readonly end: string;
}

/** A response as a stream of server-sent events (WHATWG HTML, 9.2). */
export class EventStream implements ResultSink {
  readonly closed: AbortSignal;
  readonly #form: StreamForm;
  readonly #response: ServerResponse;
  readonly #headers: readonly Header[];
  #keepAlive: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  #sent = 0;

  /** @param headers of the response, read when it opens. @param closed aborts when the client disconnects */
  constructor(response: ServerResponse, headers: readonly Header[], closed: AbortSignal, form: StreamForm) {
    this.#form = form;
    this.#response = response;
    this.#headers = headers;
    this.closed = closed;
  }

  get isOpen(): boolean {
    return this.#response.headersSent;
  }

  /** Number of events. */
  get sent(): number {
    return this.#sent;
  }

  /** Keeps the stream alive from now on. Until the first event, an error keeps its HTTP status. */
  start(intervalMs = KEEP_ALIVE_MS): void {
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#send(this.#form.keepAlive);
    }, intervalMs);
    this.#response.once("close", () => clearInterval(this.#keepAlive));
  }

  /** Ends what keeps a response alive that never opened. */
  stop(): void {
    clearInterval(this.#keepAlive);
  }

  write(event: object): Promise<void> | undefined {
    this.#sent++;
    this.#send(this.#textOf(event));
    return this.#response.writableNeedDrain ? this.#whenDrained() : undefined;
  }

  end(last: unknown): void {
    this.stop();
    this.#send(this.#textOf(last) + this.#form.end);
    if (!this.#response.writableEnded && !this.#response.destroyed) this.#response.end();
  }

  /** JSON contains no line breaks, which would end the event. */
  #textOf(event: unknown): string {
    const data = `data: ${JSON.stringify(event)}\n\n`;
    return this.#form.named && isJsonObject(event) ? `event: ${textOf(event["type"])}\n${data}` : data;
  }

  #send(text: string): void {
    const response = this.#response;
    if (response.writableEnded || response.destroyed) return;
    if (!response.headersSent) this.#open();
    response.write(text);
  }

  #open(): void {
    const raw = ["content-type", "text/event-stream; charset=utf-8", "cache-control", "no-store"];
    // Keeps reverse proxies from buffering small events.
    raw.push("x-content-type-options", "nosniff", "x-accel-buffering", "no");
    for (const [name, value] of this.#headers) raw.push(name, value);
    this.#response.writeHead(200, raw);
  }

  /** One pair of listeners however many events wait. */
  #whenDrained(): Promise<void> {
    this.#drained ??= new Promise((resolve) => {
      const done = () => {
        this.#response.off("drain", done).off("close", done);
        this.#drained = undefined;
        resolve();
      };
      this.#response.on("drain", done).on("close", done);
    });
    return this.#drained;
  }
}

/** Reads the member `stream` of a request. @throws ToolgateError INVALID_REQUEST */
export function readStream(stream: JsonValue | undefined): boolean {
  if (stream === undefined || stream === null || typeof stream === "boolean") return stream ?? false;
  throw invalidField("stream", "must be true or false");
}
