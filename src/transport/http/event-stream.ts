import type { ServerResponse } from "node:http";
import type { Header } from "../headers.ts";

/** Interval of comments that keep proxies from closing a quiet stream, ms. */
const KEEP_ALIVE_MS = 15_000;

/** A response as server-sent events (HTML standard section 9.2); the last event is the result. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout;
  #bytes = 0;

  /** Sends the headers. */
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
