import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { LoadJob } from "../load-messages.ts";
import { serveLoad, type Load, type Tally } from "../load-program.ts";

// Load over plain HTTP/1.1 with keep-alive, straight on sockets and without pipelining: the client shares the
// machine with the server and must cost little.

serveLoad(async (job, tally) => {
  const source = new RequestSource(job.requests, job.once ?? false);
  const callers = await Promise.all(
    Array.from({ length: job.connections }, async () => {
      const socket = connect({ host: job.host, port: job.port, noDelay: true });
      await once(socket, "connect");
      return new Caller(socket, source, job.expect, tally);
    }),
  );
  for (const caller of callers) caller.start();
  return {
    stop: async () => void (await Promise.all(callers.map((caller) => caller.stop()))),
  } satisfies Load;
});

/** Distributes the requests over all connections, repeatedly or once. */
class RequestSource {
  readonly #requests: readonly Buffer[];
  readonly #once: boolean;
  #next = 0;

  constructor(requests: readonly string[], once: boolean) {
    this.#requests = requests.map((text) => Buffer.from(text));
    this.#once = once;
  }

  /** Undefined when there are no more. */
  next(): Buffer | undefined {
    const request = this.#requests[this.#once ? this.#next : this.#next % this.#requests.length];
    this.#next++;
    return request;
  }
}

/** One connection: a request, its whole answer, the next request. */
class Caller {
  readonly #socket: Socket;
  readonly #source: RequestSource;
  readonly #statusLine: string;
  readonly #body: string;
  readonly #tally: Tally;
  readonly #ended = Promise.withResolvers<void>();
  #received = "";
  #sentAt = 0;
  #stopping = false;

  constructor(socket: Socket, source: RequestSource, expect: LoadJob["expect"], tally: Tally) {
    this.#socket = socket;
    this.#source = source;
    this.#statusLine = `HTTP/1.1 ${expect.status} `;
    this.#body = expect.body;
    this.#tally = tally;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#receive(text));
    socket.on("error", (error) => this.#end(`the connection failed: ${error.message}`));
    socket.on("close", () => this.#end("the server closed the connection"));
  }

  start(): void {
    const request = this.#source.next();
    if (!request) {
      this.#stopping = true;
      return this.#end();
    }
    this.#sentAt = performance.now();
    this.#socket.write(request);
  }

  stop(): Promise<void> {
    this.#stopping = true;
    return this.#ended.promise;
  }

  #receive(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1];
    if (length === undefined) {
      // In chunks: this connection sends nothing else before the next request (RFC 9112 section 7.1).
      if (!this.#received.endsWith("\r\n0\r\n\r\n")) return;
    } else {
      const missing = headEnd + 4 + Number(length) - this.#received.length;
      if (missing > 0) return;
      if (missing !== 0) return this.#end(`an answer is not of its length: ${this.#received}`);
    }
    if (!this.#received.startsWith(this.#statusLine) || !this.#received.includes(this.#body, headEnd)) {
      return this.#end(
        `an answer is not the expected one (${this.#statusLine}… ${this.#body}): ${this.#received}`,
      );
    }
    this.#received = "";
    this.#tally.answered(this.#sentAt);
    if (this.#stopping) this.#end();
    else this.start();
  }

  #end(failure?: string): void {
    if (failure !== undefined && !this.#socket.destroyed) this.#tally.fail(failure);
    if (failure !== undefined && !this.#stopping) this.#tally.fail(failure);
    this.#socket.destroy();
    this.#ended.resolve();
  }
}
