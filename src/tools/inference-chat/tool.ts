import { z } from "zod";
import {
  CHAT_ROLES,
  type ChatCompletion,
  type ChatModel,
  type ChatModels,
  type ChatUsage,
  type ModelAlias,
  formatTokenRate,
  type TokenRate,
} from "../../domain/tools/chat.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { ProgressListener, Tool } from "../../domain/tools/tool.ts";
import { omitted } from "../custom/omitted.ts";
import { MAX_RESULT_BYTES, MAX_RESULT_DEPTH, sizeOf } from "../custom/result-check.ts";
import { builtIn, type Charge } from "../built-in.ts";
import { defineTool } from "../define-tool.ts";
import { WithdrawnModels } from "../withdrawn-models.ts";
import { modelTool, offeredAliases, toolForm, withoutModels } from "./model-tool.ts";
import { finder, modelLines, requireFits } from "./models.ts";
import { usageOf } from "./openai-answer.ts";
import { CHAT_FORMS, chatApis } from "./chat-apis.ts";
import { ceilingOf, chargeFor, limitCheck, usedTokens } from "./price.ts";

const NAME = "inference_chat";
const DESCRIPTION =
  "Completes a conversation with a selectable language model. The price depends on the model, the " +
  "length of the conversation and max_tokens; the tokens that the model server counts are charged.";

const MAX_MESSAGES = 1_024;
const BETWEEN_REPORTS_MS = 250;

const messages = z
  .array(
    z.strictObject({
      role: z.enum(CHAT_ROLES).describe("Author of the message"),
      content: z.string().max(1_048_576).describe("Text of the message"),
    }),
  )
  .min(1)
  .max(MAX_MESSAGES)
  .meta({
    description: "The conversation so far, oldest turn first",
    examples: [[{ role: "user", content: "Hello" }]],
  });

const temperature = z
  .number()
  .min(0)
  .max(2)
  .optional()
  .describe("Randomness of the answer. Default: the model server's");

/** Validation checks the model itself, with a better message, so the enum is informational. */
function paramsFor(models: readonly ChatModel[], aliases: readonly ModelAlias[]) {
  const names = offeredAliases(aliases, models);
  return z.strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .meta({
        description: ["Identifier of the model.", ...names.map(aliasLine), modelLines(models, lineOf)].join(
          "\n",
        ),
        enum: [...names, ...models].map(({ id }) => id),
      }),
    messages,
    max_tokens: z
      .int()
      .min(1)
      .optional()
      .describe(
        "Limit of the answer in tokens; the price covers all of them. Default and maximum: see the " +
          "model's description",
      ),
    temperature,
  });
}

type Params = z.output<ReturnType<typeof paramsFor>>;

export const inferenceChat = builtIn({
  name: NAME,
  docs: { price: "by model, prompt and `max_tokens`", does: "answers a conversation" },
  metered: true,
  make: ({ inference, withdrawnModels, aliases }, _prices, charge) =>
    inference
      ? chatTool(inference, charge, withdrawnModels, aliases)
      : withoutModels(
          NAME,
          "Completes a conversation with a selectable language model. Not available on this installation: " +
            "no model server is configured.",
        ),
});

/** Completes a conversation (specification 2.1, 2.2), quoted by an upper bound of its tokens (price.ts). */
export function chatTool(
  inference: ChatModels,
  charge: Charge = "used",
  former: WithdrawnModels = new WithdrawnModels(),
  aliases: readonly ModelAlias[] = [],
): Tool {
  return modelTool({
    name: NAME,
    description: DESCRIPTION,
    isMetered: charge === "used",
    former,
    models: () => inference.models,
    aliases,
    isHealthy: inference.isHealthy,
    sells: ({ dimensions }) => dimensions === undefined,
    forms: CHAT_FORMS,
    formsFor: (models) => ({
      ...toolForm(toolFor(models, aliases, inference, charge)),
      apis: chatApis(models, inference, charge),
    }),
  });
}

function toolFor(
  models: readonly ChatModel[],
  aliases: readonly ModelAlias[],
  inference: ChatModels,
  charge: Charge,
) {
  const modelOf = finder(models);

  return defineTool({
    name: NAME,
    description: DESCRIPTION,
    scope: "inference:write",
    params: paramsFor(models, aliases),
    check: (call) => {
      const { max_tokens } = call;
      const limit = max_tokens === undefined ? undefined : { name: "max_tokens", tokens: max_tokens };
      requireFits({ messages: call.messages, limit }, modelOf(call.model));
    },
    price: (call) => {
      const model = modelOf(call.model);
      return ceilingOf(model, { messages: call.messages, maxTokens: maxTokensOf(call, model) });
    },
    run: async (
      call,
      { caller: { accountId }, signal, idempotencyKey, progress, meter, noteModel, span },
    ) => {
      const { messages, temperature } = call;
      const model = modelOf(call.model);
      const request = { model: model.id, messages, maxTokens: maxTokensOf(call, model), temperature };
      const onChunk = progress && progressReporter(progress);
      const isUsedUp = limitCheck(model, request.maxTokens);
      const options = { signal, accountId, idempotencyKey, onChunk, span, isUsedUp };
      noteModel?.({ model: model.id });
      const completion = await inference.complete(request, options);
      noteModel?.({ model: model.id, cost: completion.cost });
      const used = usedTokens(model, request, completion);
      if (charge === "used") meter?.(chargeFor(model, used));
      return resultOf(model.id, completion, used);
    },
  });
}

/** Reports that the model was called and then, rate-limited, how many chunks arrived. */
function progressReporter(progress: ProgressListener): (pieces: number) => void {
  progress({ progress: 0, message: "the model was called" });
  let toldAt = Number.NEGATIVE_INFINITY;
  return (pieces) => {
    if (pieces === 0 || performance.now() - toldAt < BETWEEN_REPORTS_MS) return;
    toldAt = performance.now();
    progress({ progress: pieces, message: `${pieces} chunks of the answer received, about a token each` });
  };
}

function aliasLine({ id, models, by }: ModelAlias): string {
  const which = by === "price" ? "the one with the lowest price" : "the first one that works";
  return `${id}: of ${models.join(", ")}, ${which}`;
}

/** Limits and prices. */
function lineOf(model: ChatModel): string {
  return (
    `${model.id}: context ${model.contextLength} tokens, answer at most ${model.maxOutputTokens}; USD ` +
    `${formatTokenRate(model.inputRate)} per million tokens of the prompt` +
    rateNote(model.cachedInputRate, "of cached ones") +
    rateNote(model.cacheWriteRate, "of those written to the cache") +
    rateNote(model.cacheWriteHourRate, "of those kept there for an hour") +
    `, ${formatTokenRate(model.outputRate)} of the answer` +
    rateNote(model.reasoningRate, "of reasoning")
  );
}

function rateNote(rate: TokenRate | undefined, what: string): string {
  return rate === undefined ? "" : ` (${formatTokenRate(rate)} ${what})`;
}

function maxTokensOf(call: Params, model: ChatModel): number {
  return call.max_tokens ?? model.maxOutputTokens;
}

/** The members of the specification, and what else the server says, as far as it fits. */
function resultOf(
  model: string,
  { content, finishReason, whole }: ChatCompletion,
  used: ChatUsage,
): JsonObject {
  const own = { type: "text", content, model, usage: usageOf(used), finish_reason: finishReason };
  const { role: _, content: __, refusal = null, ...more } = whole?.message ?? {};
  const message = refusal === null ? more : { refusal, ...more };
  const others = Object.keys(message).length > 0 ? { message } : {};
  const all = { ...whole?.answer, ...whole?.choice, ...own, ...others };
  if ((sizeOf(all, MAX_RESULT_DEPTH) ?? Infinity) <= MAX_RESULT_BYTES) return all;
  return {
    ...own,
    message: omitted("too_long", `the result is longer than ${MAX_RESULT_BYTES} bytes`, null),
  };
}
