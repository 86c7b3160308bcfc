import { z } from "zod";
import type { JsonObject, JsonValue } from "../domain/core/json.ts";
import type { WholeChoice } from "../domain/tools/chat.ts";

const text = z.string().nullish();

const toolCall = z.object({
  index: z.int().min(0).max(1_000).nullish(),
  id: text,
  type: text,
  function: z.object({ name: text, arguments: text }).nullish(),
});

const tokens = z.array(z.json()).nullish();

/** The members that are delivered besides content and refusal (OpenAI API, chat completion chunk). */
export const wholePart = z.object({
  /** DeepSeek, vLLM. */
  reasoning_content: text,
  /** OpenRouter. */
  reasoning: text,
  tool_calls: z.array(toolCall).max(1_000).nullish(),
});

/** Log probabilities of a choice. */
export const logprobsPart = z.object({ content: tokens, refusal: tokens });

export type WholePart = z.output<typeof wholePart>;
export type LogprobsPart = z.output<typeof logprobsPart>;

interface ToolCallParts {
  id: string;
  type: string;
  name: string;
  arguments: string;
}

/** Assembles the members of a message that {@link Completion} does not: reasoning, tool calls, logprobs. */
export class WholeMessage {
  readonly #reasoning = new Map<"reasoning_content" | "reasoning", string>();
  readonly #toolCalls = new Map<number, ToolCallParts>();
  readonly #logprobs = new Map<"content" | "refusal", JsonValue[]>();

  /** Adds a part. @returns what it adds, as a delta; undefined if it adds nothing */
  add(part: WholePart): JsonObject | undefined {
    const delta: JsonObject = {};
    for (const name of ["reasoning_content", "reasoning"] as const) {
      if (!part[name]) continue;
      this.#reasoning.set(name, (this.#reasoning.get(name) ?? "") + part[name]);
      delta[name] = part[name];
    }
    const calls = part.tool_calls?.map((call, at) => this.#addCall(call, at)) ?? [];
    if (calls.length > 0) delta["tool_calls"] = calls;
    return Object.keys(delta).length === 0 ? undefined : delta;
  }

  /** Adds log probabilities. @returns them as a chunk has them; undefined if there are none */
  addLogprobs(part: LogprobsPart): JsonObject | undefined {
    let added: JsonObject | undefined;
    for (const name of ["content", "refusal"] as const) {
      const list = part[name];
      if (!list) continue;
      const all = this.#logprobs.get(name) ?? [];
      this.#logprobs.set(name, all);
      for (const one of list) all.push(one);
      added = { ...(added ?? { content: null, refusal: null }), [name]: list };
    }
    return added;
  }

  result(content: string, refusal: string): WholeChoice {
    const calls = [...this.#toolCalls].sort(([one], [other]) => one - other).map(([, call]) => call);
    const message: JsonObject = {
      role: "assistant",
      content: content === "" && (calls.length > 0 || refusal !== "") ? null : content.toWellFormed(),
      refusal: refusal === "" ? null : refusal.toWellFormed(),
    };
    for (const [name, thoughts] of this.#reasoning) message[name] = thoughts.toWellFormed();
    if (calls.length > 0)
      message["tool_calls"] = calls.map(({ id, type, name, arguments: input }) => ({
        id: id.toWellFormed(),
        type: type.toWellFormed(),
        function: { name: name.toWellFormed(), arguments: input.toWellFormed() },
      }));
    return {
      message,
      ...(this.#logprobs.size > 0 && {
        logprobs: { content: null, refusal: null, ...Object.fromEntries(this.#logprobs) },
      }),
    };
  }

  /** Some servers leave the index out: then the calls of a part are in order. */
  #addCall({ index, id, type, function: called }: z.output<typeof toolCall>, at: number): JsonObject {
    const place = index ?? at;
    const isNew = !this.#toolCalls.has(place);
    const call = this.#toolCalls.get(place) ?? { id: "", type: "function", name: "", arguments: "" };
    this.#toolCalls.set(place, call);
    call.id ||= id ?? "";
    call.type = type || call.type;
    call.name += called?.name ?? "";
    call.arguments += called?.arguments ?? "";
    return {
      index: place,
      ...(isNew && { id: call.id, type: call.type }),
      function: { ...(called?.name && { name: called.name }), arguments: called?.arguments ?? "" },
    };
  }
}
