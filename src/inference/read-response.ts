import { text } from "node:stream/consumers";
import type { Completion } from "./completion.ts";
import { EventDecoder } from "./server-sent-events.ts";
import { ModelServerError, unusable } from "./upstream-failure.ts";

/** Longest answer in one piece, bytes: the longest text with everything escaped, and what stands around it. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** What ends a stream of chunks. */
const DONE = "[DONE]";

/** How a stream of events begins, which some servers and proxies send under another type. */
const EVENTS = /^\s*(?:data|event|id|retry)?:/;

/** What is told of an answer while it arrives. */
export interface StreamListener {
  /** A streamed answer begins. */
  streamStarted(): void;
  /** A part of a streamed answer has arrived. */
  chunkReceived(): void;
}

/** Why an answer ended where its connection broke after the server had counted its tokens. */
const CONNECTION_LOST = "connection_lost";

/**
 * Reads a chat completion, streamed or in one piece, whichever the server chose. A streamed one is whole when the server has said why it
 * ended or that it is done; what goes wrong after that takes nothing from it.
 * @param completion takes what arrives, so that it is known also where this throws
 * @param heard told how many pieces of a streamed answer's text are there
 * @returns why the answer ended, where the server did not say it and it is not whole; else null
 * @throws ModelServerError when the server says something else; whatever the connection throws when it breaks
 */
export async function readResponse(
  response: Response,
  completion: Completion,
  progress: StreamListener,
  heard: (pieces: number) => void = () => {},
): Promise<string | null> {
  const body = response.body ?? ReadableStream.from<Uint8Array>([]);
  const streamed = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
  const whole = streamed ? "" : await text(bounded(body));
  if (!streamed && !EVENTS.test(whole)) {
    completion.take(parse(whole));
    return null;
  }
  try {
    const done = streamed
      ? await readStream(body, completion, progress, heard)
      : readEvents(whole, completion);
    if (done) return null;
  } catch (error) {
    if (!completion.finished && (!completion.counted || error instanceof ModelServerError)) throw error;
  }
  if (completion.finished) return null;
  if (!completion.counted) throw unusable("the model server's answer broke off", undefined);
  return CONNECTION_LOST;
}

/** @returns whether the stream said that it is done, or nothing more of it is wanted */
async function readStream(
  body: ReadableStream<Uint8Array>,
  completion: Completion,
  progress: StreamListener,
  heard: (pieces: number) => void,
): Promise<boolean> {
  const events = new EventDecoder();
  // Not iterated: that would end by waiting for a server which is done, but does not hang up.
  const reader = body.getReader();
  progress.streamStarted();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return takeAll(events.end(), completion);
      progress.chunkReceived();
      const over = takeAll(events.decode(value), completion);
      heard(completion.chunks);
      if (over || completion.full) return true;
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
