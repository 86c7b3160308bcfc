import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { LoadJob } from "./load-process.ts";
import type { Load, Tally } from "./tally.ts";

/**
 * HTTP/1.1 with keep-alive, straight on sockets and without pipelining: the client shares the machine with
 * the server and must cost little.
 */
export async function open(job: LoadJob, tally: Tally): Promise<Load> {
  const buffers = job.requests.map((text) => Buffer.from(text));
  let turn = 0;
  const next = () => buffers[job.once === true ? turn++ : turn++ % buffers.length];
  const callers = await Promise.all(
    Array.from({ length: job.connections }, async () => {
      const socket = connect({ host: job.host, port: job.port, noDelay: true });
      await once(socket, "connect");
      return new Caller(socket, next, job.expect, tally);
    }),
  );
  for (const caller of callers) caller.start();
  return { stop: async () => void (await Promise.all(callers.map((caller) => caller.stop()))) };
}

/** One connection: a request, its whole answer, the next request. */
class Caller {
  readonly #socket: Socket;
  readonly #next: () => Buffer | undefined;
  readonly #statusLine: string;
  readonly #body: string;
  readonly #tally: Tally;
  readonly #ended = Promise.withResolvers<void>();
  #received = "";
  #sentAt = 0;
  #stopping = false;

  constructor(socket: Socket, next: () => Buffer | undefined, expect: LoadJob["expect"], tally: Tally) {
    this.#socket = socket;
    this.#next = next;
    this.#statusLine = `HTTP/1.1 ${expect.status} `;
    this.#body = expect.body;
    this.#tally = tally;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#receive(text));
    socket.on("error", (error) => this.#end(`the connection failed: ${error.message}`));
    socket.on("close", () => this.#end("the server closed the connection"));
  }

  start(): void {
    const request = this.#next();
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
    } else if (this.#received.length < headEnd + 4 + Number(length)) return;
    const { status, body } = { status: this.#statusLine, body: this.#body };
    if (!this.#received.startsWith(status) || !this.#received.includes(body, headEnd))
      return this.#end(`an answer is not the expected one (${status}… ${body}): ${this.#received}`);
    this.#received = "";
    this.#tally.answered(this.#sentAt);
    if (this.#stopping) this.#end();
    else this.start();
  }

  #end(failure?: string): void {
    // A server may close what this side has stopped using.
    if (failure !== undefined && !(this.#stopping && this.#socket.destroyed)) this.#tally.fail(failure);
    this.#socket.destroy();
    this.#ended.resolve();
  }
}
