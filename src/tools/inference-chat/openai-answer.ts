import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { finishOf } from "./finish-reason.ts";
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
  const {
    message = { role: "assistant", content, refusal: null },
    logprobs = null,
    choice,
    answer,
  } = whole ?? {};
  return {
    ...answer,
    ...head,
    object: "chat.completion",
    choices: [
      {
        ...choice,
        index: 0,
        message: withCallIds(head, message),
        logprobs,
        ...finishOf(finishReason),
      },
    ],
    usage: usageOf(used),
  };
}

/** OpenAI API, "The chat completion chunk object". */
export function chunkOf(head: AnswerHead, { delta, logprobs, choice, answer }: ChatDelta): JsonObject {
  return {
    ...answer,
    ...head,
    object: "chat.completion.chunk",
    choices: [
      {
        ...choice,
        index: 0,
        delta: withCallIds(head, delta),
        logprobs: logprobs ?? null,
        finish_reason: null,
      },
    ],
  };
}

/** Gives each tool call an id: its result must name one. */
function withCallIds({ id }: AnswerHead, message: JsonObject): JsonObject {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls) || !calls.some(lacksId)) return message;
  const named = (call: JsonValue, at: number) => {
    if (!isJsonObject(call) || !lacksId(call)) return call;
    const { index = at } = call;
    return { ...call, id: `${id.slice(-7)}${Number(index).toString(36).padStart(2, "0")}` };
  };
  return { ...message, tool_calls: calls.map(named) };
}

function lacksId(call: JsonValue): boolean {
  return isJsonObject(call) && call["id"] === "";
}

/** Members of a server's `usage` that the gateway's own would contradict. */
const OWN =
  /^(?:cost(?:_.*)?|receipt(?:_id)?|estimated|(?:input|output)_tokens|\w*cached?_\w*tokens|cached_tokens)$/;

export function usageOf(usage: ChatUsage): JsonObject {
  const { more = {}, cachedTokens, cacheWriteTokens, reasoningTokens, isEstimated = false } = usage;
  const { prompt_tokens_details: prompt, completion_tokens_details: completion, ...others } = more;
  const details = {
    prompt_tokens_details: {
      ...without(prompt, "cached_tokens"),
      ...(cachedTokens !== undefined && { cached_tokens: cachedTokens }),
      ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
    },
    completion_tokens_details: {
      ...without(completion, "reasoning_tokens"),
      ...(reasoningTokens !== undefined && { reasoning_tokens: reasoningTokens }),
    },
  };
  return {
    ...Object.fromEntries(Object.entries(others).filter(([name]) => !OWN.test(name))),
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    ...Object.fromEntries(Object.entries(details).filter(([, members]) => Object.keys(members).length > 0)),
    ...(isEstimated && { estimated: true }),
  };
}

function without(value: JsonValue | undefined, name: string): JsonObject {
  const { [name]: _, ...others } = isJsonObject(value) ? value : {};
  return others;
}
