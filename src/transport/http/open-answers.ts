import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** An answer under way, and what aborts when the caller goes away before it has it. */
interface OpenAnswer {
  readonly response: ServerResponse;
  readonly gone: AbortController;
}

/** What each connection is being answered. One that is idle keeps nothing of the answers that it had. */
export class OpenAnswers {
  /** Of several answers the last. */
  readonly #latest = new Map<Duplex, OpenAnswer>();
  /** All answers of those that ask before they have one, as far as these are not known to be out. */
  readonly #pipelines = new Map<Duplex, OpenAnswer[]>();
  readonly #pipelined: number;

  /** @param pipelined requests of a connection that may wait for their answers */
  constructor(pipelined: number) {
    this.#pipelined = pipelined;
  }

  /** @returns aborts when the caller goes away before it has this answer; undefined for one answer too many */
  add(socket: Duplex, response: ServerResponse): AbortSignal | undefined {
    const before = this.#latest.get(socket);
    const answer: OpenAnswer = { response, gone: new AbortController() };
    this.#latest.set(socket, answer);
    // Comes once anyway, and taking the listener off again costs more than putting it on.
    response.on("close", () => this.#closed(socket, answer));
    if (!before) return answer.gone.signal;
    const all = [...(this.#pipelines.get(socket) ?? [before]), answer];
    const waiting = all.length > this.#pipelined ? all.filter((one) => !one.response.writableFinished) : all;
    this.#pipelines.set(socket, waiting);
    return waiting.length > this.#pipelined ? undefined : answer.gone.signal;
  }

  #closed(socket: Duplex, { response, gone }: OpenAnswer): void {
    if (!response.writableFinished) gone.abort();
    if (this.latest(socket) === response) this.forget(socket);
  }

  /** The answer to what was asked last over a connection; undefined when that is idle. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#latest.get(socket)?.response;
  }

  /** The answers of a connection that are not out yet, in their order. */
  waiting(socket: Duplex): ServerResponse[] {
    const latest = this.#latest.get(socket);
    const all = this.#pipelines.get(socket) ?? (latest ? [latest] : []);
    return all.map(({ response }) => response).filter(({ writableFinished }) => !writableFinished);
  }

  /** Of each connection that is not idle, the answer to what was asked last. */
  *all(): Iterable<[Duplex, ServerResponse]> {
    for (const [socket, { response }] of this.#latest) yield [socket, response];
  }

  /** Keeps nothing of a connection that is gone. */
  forget(socket: Duplex): void {
    this.#latest.delete(socket);
    this.#pipelines.delete(socket);
  }
}
