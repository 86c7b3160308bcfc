import type { ServerResponse } from "node:http";
import { writeJson } from "../../domain/json-text.ts";
import type { Header } from "../header.ts";

/** A comment now and then keeps proxies from taking a quiet stream for a dead one, ms. */
const KEEP_ALIVE_MS = 15_000;

/** An answer as server-sent events (HTML standard section 9.2): messages, the last of which is the answer itself. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout;

  /** Sends the head. */
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
    // Reverse proxies would hold small events back.
    raw.push("x-accel-buffering", "no");
    for (const [name, value] of headers) raw.push(name, value);
    if (!response.destroyed) response.writeHead(200, raw);
    this.#keepAlive = setInterval(() => this.#write(": \n\n"), KEEP_ALIVE_MS);
    response.once("close", () => clearInterval(this.#keepAlive));
  }

  /** Sends a message on the way; it is left out for a caller that does not keep up, or has gone. */
  send(message: object): void {
    this.#write(eventText(message));
  }

  /** Sends the answer. Nothing goes out after it. */
  end(answer: unknown): void {
    clearInterval(this.#keepAlive);
    if (!this.#response.writableEnded && !this.#response.destroyed) this.#response.end(eventText(answer));
  }

  #write(text: string): void {
    const { writableEnded, destroyed, writableNeedDrain } = this.#response;
    if (!writableEnded && !destroyed && !writableNeedDrain) this.#response.write(text);
  }
}

/** JSON has no line breaks, which would end the event. */
function eventText(message: unknown): string {
  return `event: message\ndata: ${writeJson(message)}\n\n`;
}
