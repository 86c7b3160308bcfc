import { text } from "node:stream/consumers";
import type { ChatCompletion } from "../domain/chat.ts";
import { Completion } from "./completion.ts";
import { EventDecoder } from "./server-sent-events.ts";
import { unusable } from "./upstream-failure.ts";

/** Longest answer in one piece, bytes: the longest text with everything escaped, and what stands around it. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** What ends a stream of chunks. */
const DONE = "[DONE]";

/** How a stream of events begins, which some servers and proxies send under another type. */
const EVENTS = /^\s*(?:data|event|id|retry)?:/;

/** What is told of an answer while it arrives. */
export interface Progress {
  /** A streamed answer begins. */
  begin(): void;
  /** A part of a streamed answer has arrived. */
  piece(): void;
}

/**
 * Reads a chat completion, streamed or in one piece, whichever the server chose. A streamed one is whole when the server has said why it
 * ended or that it is done; what goes wrong after that takes nothing from it.
 * @param heard told how many pieces of a streamed answer's text are there
 * @throws ModelServerError when the server says something else; whatever the connection throws when it breaks
 */
export async function readAnswer(
  response: Response,
  progress: Progress,
  heard: (pieces: number) => void = () => {},
): Promise<ChatCompletion> {
  const completion = new Completion();
  const body = response.body ?? ReadableStream.from<Uint8Array>([]);
  const streamed = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  const whole = streamed ? "" : await text(bounded(body));
  if (!streamed && !EVENTS.test(whole)) {
    completion.take(parse(whole));
    return completion.result();
  }
  try {
    const done = streamed ? await readStream(body, completion, progress, heard) : readEvents(whole, completion);
    if (done) return completion.result();
  } catch (error) {
    if (!completion.finished) throw error;
  }
  if (!completion.finished) throw unusable("the model server's answer broke off", undefined);
  return completion.result();
}

/** @returns whether the stream said that it is done */
async function readStream(
  body: ReadableStream<Uint8Array>,
  completion: Completion,
  progress: Progress,
  heard: (pieces: number) => void,
): Promise<boolean> {
  const events = new EventDecoder();
  // Not iterated: that would end by waiting for a server which is done, but does not hang up.
  const reader = body.getReader();
  progress.begin();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return takeAll(events.end(), completion);
      progress.piece();
      const over = takeAll(events.decode(value), completion);
      heard(completion.pieces);
      if (over) return true;
    }
  } finally {
    reader.releaseLock();
  }
}

/** @returns whether the events said that the answer is done */
function readEvents(whole: string, completion: Completion): boolean {
  const events = new EventDecoder();
  return takeAll(events.decode(Buffer.from(whole)), completion) || takeAll(events.end(), completion);
}

/** @returns whether the last of them was the end */
function takeAll(events: Iterable<string>, completion: Completion): boolean {
  for (const data of events) {
    if (data.trim() === DONE) return true;
    if (data.trim() !== "") completion.take(parse(data));
  }
  return false;
}

function parse(json: string): unknown {
  try {
    // Some servers begin with a byte order mark, even in the middle of a stream.
    return JSON.parse(json.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw unusable("the model server's answer could not be read", error);
  }
}

async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw unusable("the model server's answer is too long", undefined);
    yield chunk;
  }
}
