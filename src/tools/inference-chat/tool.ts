import { z } from "zod";
import { CHAT_ROLES, type ChatCompletion, type ChatModel, type ChatModels } from "../../domain/chat.ts";
import { invalidField } from "../../domain/errors.ts";
import type { JsonObject } from "../../domain/json.ts";
import { priceOfTokens } from "../../domain/token-rate.ts";
import type { Tool } from "../../domain/tool.ts";
import { defineTool } from "../define-tool.ts";
import { fewestPromptTokens, pricedPromptTokens } from "./prompt-tokens.ts";

const MOST_MESSAGES = 1_024;
/** Models that an error names before it stops. */
const MOST_MODELS_NAMED = 50;

const params = z.strictObject({
  model: z.string().min(1).max(256).describe("Identifier of the model"),
  messages: z
    .array(
      z.strictObject({
        role: z.enum(CHAT_ROLES).describe("Who speaks"),
        content: z.string().max(1_048_576).describe("What is said"),
      }),
    )
    .min(1)
    .max(MOST_MESSAGES)
    .describe("The conversation so far, oldest turn first"),
  max_tokens: z
    .int()
    .min(1)
    .optional()
    .describe("Most tokens of the answer, which the price is a ceiling for; the model's own limit when left out"),
  temperature: z
    .number()
    .min(0)
    .max(2)
    .optional()
    .describe("Randomness of the answer; the model server's default when left out"),
});

type Params = z.output<typeof params>;

/**
 * `inference_chat`: one answer of a language model (specification 2.1, 2.2). The price is a ceiling that is known before the call:
 * the prompt at {@link pricedPromptTokens} and the answer at `max_tokens`, each at the model's rate. Answers are not streamed.
 */
export function inferenceChat(inference: ChatModels): Tool {
  const byId = new Map(inference.models.map((model) => [model.id, model]));

  function modelOf(call: Params): ChatModel {
    const model = byId.get(call.model);
    if (model) return model;
    const names = [...byId.keys()];
    const more = names.length > MOST_MODELS_NAMED ? ` and ${names.length - MOST_MODELS_NAMED} more` : "";
    throw invalidField(
      "params.model",
      `is not offered; there are ${names.slice(0, MOST_MODELS_NAMED).join(", ")}${more}`,
    );
  }

  return defineTool({
    name: "inference_chat",
    description:
      "Completes a conversation with a selectable language model. The price depends on the model, the length of the conversation and max_tokens.",
    scope: "inference:write",
    params,
    check: (call) => demandFit(call, modelOf(call)),
    price: (call) => {
      const model = modelOf(call);
      return priceOfTokens(
        { tokens: pricedPromptTokens(call.messages, model), rate: model.inputRate },
        { tokens: maxTokensOf(call, model), rate: model.outputRate },
      );
    },
    run: async (call, { signal, runId }) => {
      const { model, messages, temperature } = call;
      const maxTokens = maxTokensOf(call, modelOf(call));
      return resultOf(model, await inference.complete({ model, messages, maxTokens, temperature }, { signal, runId }));
    },
  });
}

function maxTokensOf(call: Params, model: ChatModel): number {
  return call.max_tokens ?? model.maxOutputTokens;
}

/** Refuses, before a quote, what the model surely cannot take. */
function demandFit(call: Params, model: ChatModel): void {
  const { contextLength, maxOutputTokens } = model;
  if (call.max_tokens !== undefined && call.max_tokens > maxOutputTokens) {
    throw invalidField("params.max_tokens", `must be at most ${maxOutputTokens} for ${model.id}`);
  }
  const prompt = fewestPromptTokens(call.messages);
  const answer = maxTokensOf(call, model);
  if (prompt + answer <= contextLength) return;
  throw invalidField(
    "params.messages",
    `the prompt (at least ${prompt} tokens) and the answer (${answer} tokens) exceed the ${contextLength} tokens of ${model.id}; shorten the messages or lower max_tokens`,
  );
}

function resultOf(model: string, { content, finishReason, usage }: ChatCompletion): JsonObject {
  return {
    type: "text",
    content,
    model,
    usage: usage && {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      total_tokens: usage.totalTokens,
    },
    finish_reason: finishReason,
  };
}
