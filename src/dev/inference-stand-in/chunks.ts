import type { ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";

/** Common fields of all chunks of an answer. */
interface ChunkHead {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/**
 * Sends an answer in pieces, a word in each, as server-sent events (OpenAI API reference, "Streaming
 * events").
 */
export function sendChunks(
  response: ServerResponse,
  head: ChunkHead,
  answer: Answer,
  withUsage: boolean,
): void {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  const write = (more: object): void => {
    response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...more })}\n\n`);
  };
  const say = (delta: object, finish_reason: string | null): void =>
    write({ choices: [{ index: 0, delta, finish_reason }], ...(withUsage && { usage: null }) });
  say({ role: "assistant", content: "" }, null);
  for (const word of answer.content.split(/(?<= )/)) say({ content: word }, null);
  say({}, answer.finishReason);
  if (withUsage) write({ choices: [], usage: usageOf(answer) });
  response.end("data: [DONE]\n\n");
}

/** The counts as the protocol has them. */
export function usageOf({ promptTokens, completionTokens }: Answer): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}
