import { text } from "node:stream/consumers";
import type { ServerReader } from "../dialects/dialect.ts";
import { isJsonObject } from "../domain/core/json.ts";
import type { ServerAnswer } from "../outbound/server-answer.ts";
import type { Completion } from "./completion.ts";
import { ModelServerError, unusable } from "./upstream-failure.ts";

/** Bytes: the longest text fully escaped, plus its envelope. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

const DONE = "[DONE]";

/** Some servers and proxies send an event stream under another content type. */
const EVENTS = /^\s*(?:data|event|id|retry)?:/;

export interface StreamListener {
  streamStarted(): void;
  chunkReceived(): void;
  /** Called after each chunk. @returns a promise to await before more is read; undefined: at once */
  chunkTaken(): Promise<void> | undefined;
}

/** Finish reason when the connection broke after the server had counted its tokens. */
export const CONNECTION_LOST = "connection_lost";

/** What an answer is read with, and what it becomes. */
export interface Receiver {
  readonly reader: ServerReader;
  readonly completion: Completion;
}

/** Reads an answer, streamed or whole. @returns the reason of a cut one. @throws ModelServerError */
export async function readResponse(
  { body, headers }: ServerAnswer,
  receiver: Receiver,
  progress: StreamListener,
): Promise<string | null> {
  const { completion, reader } = receiver;
  const streamed = /^text\/event-stream\b/i.test(headers.get("content-type") ?? "");
  const whole = streamed ? "" : await text(bounded(body));
  if (!streamed && !EVENTS.test(whole)) {
    const answer = parse(whole);
    completion.take(isJsonObject(answer) ? reader.whole(answer) : answer, "message");
    completion.end();
    return null;
  }
  try {
    const done = streamed ? await readStream(body, receiver, progress) : readEvents(whole, receiver);
    if (done || completion.finished) {
      completion.end();
      return null;
    }
  } catch (error) {
    if (!completion.finished && (!completion.counted || error instanceof ModelServerError)) throw error;
  }
  if (completion.finished) return null;
  if (!completion.counted) throw unusable("the model server's answer broke off", undefined);
  return CONNECTION_LOST;
}

/** @returns whether the stream is done or full */
async function readStream(
  body: AsyncIterable<Uint8Array>,
  receiver: Receiver,
  progress: StreamListener,
): Promise<boolean> {
  const events = new EventDecoder();
  // A loop over the body would close it, or wait for a server that is done but keeps the connection open.
  const chunks = body[Symbol.asyncIterator]();
  progress.streamStarted();
  for (;;) {
    const next = await chunks.next();
    if (next.done === true) return takeAll(events.end(), receiver);
    progress.chunkReceived();
    const over = takeAll(events.decode(next.value), receiver);
    const taken = progress.chunkTaken();
    if (taken) await taken;
    if (over) return true;
  }
}

/** @returns whether the last event was among them */
function readEvents(whole: string, receiver: Receiver): boolean {
  const events = new EventDecoder();
  return takeAll(events.decode(Buffer.from(whole)), receiver) || takeAll(events.end(), receiver);
}

/** @returns whether the last event was among them, or no more is read */
function takeAll(events: Iterable<string>, receiver: Receiver): boolean {
  for (const data of events) {
    if (data.trim() === DONE) return true;
    if (data.trim() !== "" && takeEvent(parse(data), receiver)) return true;
  }
  return false;
}

function takeEvent(event: unknown, { completion, reader }: Receiver): boolean {
  const isOpen = !completion.finished;
  if (!isJsonObject(event)) completion.take(event);
  else {
    for (const chunk of reader.take(event)) completion.take(chunk);
    if (isOpen) completion.relay(event);
  }
  return reader.isOver || completion.full;
}

function parse(json: string): unknown {
  try {
    // Some servers send a byte order mark, even in the middle of a stream.
    return JSON.parse(json.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw unusable("the model server's answer could not be read", error);
  }
}

/** @throws ModelServerError if it is too long or not JSON */
export async function readJson({ body }: ServerAnswer, maxBytes?: number): Promise<unknown> {
  return parse(await text(bounded(body, maxBytes)));
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  maxBytes = MAX_BODY_BYTES,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw unusable("the model server's answer is too long", undefined);
    yield chunk;
  }
}

/** Characters. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/** Decodes server-sent events (WHATWG HTML, 9.2.6). A cut last event counts: some servers end so. */
export class EventDecoder {
  readonly #text = new TextDecoder();
  #rest = "";
  #afterCr = false;
  #data: string[] = [];
  #length = 0;

  /** Yields the data of events completed by these bytes. @throws RangeError if an event is too long */
  *decode(bytes: Uint8Array): Generator<string> {
    yield* this.#take(this.#text.decode(bytes, { stream: true }));
  }

  /** Yields the data of events completed by the end of the stream. */
  *end(): Generator<string> {
    yield* this.#take(`${this.#text.decode()}\n\n`);
  }

  *#take(text: string): Generator<string> {
    // The LF of a CR LF split between chunks.
    const fresh = this.#afterCr && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#afterCr = text.endsWith("\r");
    // An unfinished line is only appended: searching it again with each chunk would be quadratic.
    const lines = /[\r\n]/.test(fresh) ? (this.#rest + fresh).split(/\r\n|\n|\r/) : [this.#rest + fresh];
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#line(line);
      else if (this.#data.length > 0) yield this.#event();
    }
    if (this.#length + this.#rest.length > MAX_EVENT_LENGTH)
      throw new RangeError("an event of the stream is too long");
  }

  #line(line: string): void {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field !== "data") return;
    this.#data.push(value ?? "");
    this.#length += line.length;
  }

  #event(): string {
    const data = this.#data.join("\n");
    this.#data = [];
    this.#length = 0;
    return data;
  }
}
