import { isJsonObject } from "../domain/core/json.ts";
import { isErrorCode, ToolgateError } from "../domain/core/errors.ts";

/** One end of Node's messages between the primary process and a worker. */
export interface Port {
  /** Calls back with an error when the other process has ended. */
  send(message: object, onSent: (error: Error | null) => void): unknown;
  onMessage(receive: (message: unknown) => void): void;
  onGone(act: () => void): void;
}

/** Answers a request with JSON. @param signal aborts when the requester gives up or ends */
type Handler = (value: unknown, signal: AbortSignal) => Promise<unknown>;

/** Requests in both directions between the primary and a worker; both run this program. */
export class Channel {
  readonly #port: Port;
  readonly #handlers = new Map<string, Handler>();
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #answering = new Map<number, AbortController>();
  #last = 0;

  constructor(port: Port) {
    this.#port = port;
    port.onMessage((message) => this.#receive(message));
    port.onGone(() => this.#end());
  }

  handle(method: string, handler: Handler): void {
    this.#handlers.set(method, handler);
  }

  /** @throws ToolgateError as the other process did; UNAVAILABLE when it has ended or the signal aborts */
  async request(method: string, value: unknown, signal?: AbortSignal): Promise<unknown> {
    const id = ++this.#last;
    const answer = Promise.withResolvers<unknown>();
    this.#waiting.set(id, answer);
    const give = () => {
      this.#send({ abort: id });
      answer.reject(new ToolgateError("UNAVAILABLE", "the request was aborted", { cause: signal?.reason }));
    };
    if (signal?.aborted === true) give();
    else this.#send({ id, method, value });
    signal?.addEventListener("abort", give);
    try {
      return await answer.promise;
    } finally {
      signal?.removeEventListener("abort", give);
      this.#waiting.delete(id);
    }
  }

  #send(message: object): void {
    this.#port.send(message, (error) => error && this.#end());
  }

  #receive(message: unknown): void {
    if (!isJsonObject(message)) return;
    const { id, method, value, abort, answer, error } = message;
    if (typeof abort === "number") this.#answering.get(abort)?.abort();
    else if (typeof id === "number" && typeof method === "string") void this.#answer(id, method, value);
    else if (typeof answer === "number") {
      const waiting = this.#waiting.get(answer);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(errorOf(error));
    }
  }

  async #answer(id: number, method: string, value: unknown): Promise<void> {
    const abort = new AbortController();
    this.#answering.set(id, abort);
    try {
      const handler = this.#handlers.get(method);
      if (!handler) throw new Error(`the other process does not know ${method}`);
      this.#send({ answer: id, value: await handler(value, abort.signal) });
    } catch (error) {
      this.#send({ answer: id, error: describe(error) });
    } finally {
      this.#answering.delete(id);
    }
  }

  #end(): void {
    for (const { reject } of this.#waiting.values()) reject(gone());
    for (const abort of this.#answering.values()) abort.abort();
  }
}

function gone(): ToolgateError {
  return new ToolgateError("UNAVAILABLE", "the other process has ended", { retryAfterSeconds: 1 });
}

function describe(error: unknown): object {
  if (!(error instanceof ToolgateError)) return { message: String(error) };
  const { code, message, retryAfterSeconds, worked } = error;
  return { code, message, retryAfterSeconds, worked };
}

function errorOf(value: unknown): Error {
  const { code, message, retryAfterSeconds, worked } = isJsonObject(value) ? value : {};
  const text = typeof message === "string" ? message : "no reason";
  if (typeof code !== "string" || !isErrorCode(code)) return new Error(text);
  return new ToolgateError(code, text, {
    ...(typeof retryAfterSeconds === "number" && { retryAfterSeconds }),
    worked: worked === true,
  });
}
