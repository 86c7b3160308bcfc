import type { ServerResponse } from "node:http";
import type { ResultSink } from "../../domain/tools/tool.ts";
import type { Header } from "../headers.ts";

/** Interval of comments that keep proxies from closing a quiet stream, ms. */
const KEEP_ALIVE_MS = 15_000;

/** A response as the stream of the OpenAI API: `data` events, the last one `[DONE]`. */
export class ChunkStream implements ResultSink {
  readonly closed: AbortSignal;
  readonly #response: ServerResponse;
  readonly #headers: readonly Header[];
  #keepAlive: NodeJS.Timeout | undefined;
  #drained: Promise<void> | undefined;
  #chunks = 0;

  /** @param headers of the response, read when it opens. @param closed aborts when the client disconnects */
  constructor(response: ServerResponse, headers: readonly Header[], closed: AbortSignal) {
    this.#response = response;
    this.#headers = headers;
    this.closed = closed;
  }

  get isOpen(): boolean {
    return this.#response.headersSent;
  }

  get hasChunks(): boolean {
    return this.#chunks > 0;
  }

  /** Starts the comments. Until the first one or the first chunk, an error keeps its HTTP status. */
  start(intervalMs = KEEP_ALIVE_MS): void {
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#send(": keep-alive\n\n");
    }, intervalMs);
    this.#response.once("close", () => clearInterval(this.#keepAlive));
  }

  /** Ends the comments of a response that never opened. */
  stop(): void {
    clearInterval(this.#keepAlive);
  }

  write(chunk: object): Promise<void> | undefined {
    this.#chunks++;
    this.#send(eventText(chunk));
    return this.#response.writableNeedDrain ? this.#whenDrained() : undefined;
  }

  end(last: unknown): void {
    this.stop();
    this.#send(`${eventText(last)}data: [DONE]\n\n`);
    if (!this.#response.writableEnded && !this.#response.destroyed) this.#response.end();
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

  /** One pair of listeners however many chunks wait. */
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

/** JSON contains no line breaks, which would end the event. */
function eventText(message: unknown): string {
  return `data: ${JSON.stringify(message)}\n\n`;
}
