import type { JsonObject } from "../../domain/core/json.ts";
import type { ChatCompletion, ChatDelta, ChatUsage } from "../../domain/tools/chat.ts";

/** Hex digits of a run id that are its time (RFC 9562 section 5.7). */
const TIME_DIGITS = 12;

/** The members that an answer and its chunks have in common. */
export interface AnswerHead {
  readonly id: string;
  /** Seconds since the Unix epoch. */
  readonly created: number;
  readonly model: string;
}

/** @param runId `run_…`, which holds its time */
export function headOf(runId: string, model: string): AnswerHead {
  const hex = runId.slice("run_".length);
  return {
    id: `chatcmpl-${hex}`,
    created: Math.floor(Number.parseInt(hex.slice(0, TIME_DIGITS), 16) / 1_000),
    model,
  };
}

/** OpenAI API, "The chat completion object". Its clients expect a finish reason. */
export function answerOf(
  head: AnswerHead,
  { content, finishReason, whole }: ChatCompletion,
  used: ChatUsage,
): JsonObject {
  const message = whole?.message ?? { role: "assistant", content, refusal: null };
  return {
    ...head,
    object: "chat.completion",
    choices: [
      { index: 0, message, logprobs: whole?.logprobs ?? null, finish_reason: finishReason ?? "stop" },
    ],
    usage: usageOf(used),
  };
}

/** OpenAI API, "The chat completion chunk object". */
export function chunkOf(head: AnswerHead, { delta, logprobs }: ChatDelta): JsonObject {
  return {
    ...head,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, logprobs: logprobs ?? null, finish_reason: null }],
  };
}

export function usageOf(usage: ChatUsage): JsonObject {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...(usage.cachedTokens !== undefined && { prompt_tokens_details: { cached_tokens: usage.cachedTokens } }),
    ...(usage.reasoningTokens !== undefined && {
      completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    }),
    ...(usage.isEstimated && { estimated: true }),
  };
}
