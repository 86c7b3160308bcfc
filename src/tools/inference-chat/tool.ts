import { z } from "zod";
import { CHAT_ROLES, type ChatCompletion, type ChatModel, type ChatModels } from "../../domain/tools/chat.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { formatTokenRate, type TokenRate } from "../../domain/tools/token-rate.ts";
import type { PreparedCall, ProgressListener, Tool } from "../../domain/tools/tool.ts";
import { builtIn, type Charge } from "../built-in.ts";
import { unavailableTool, defineTool } from "../define-tool.ts";
import { WithdrawnModels } from "./withdrawn-models.ts";
import { finder, requireFits } from "./models.ts";
import { usageOf } from "./openai-answer.ts";
import { openAiChat } from "./openai-chat.ts";
import { ceilingOf, chargeFor } from "./price.ts";

const NAME = "inference_chat";
const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };
const DESCRIPTION =
  "Completes a conversation with a selectable language model. The price depends on the model, the " +
  "length of the conversation and max_tokens; the tokens that the model server counts are charged.";

const MAX_MESSAGES = 1_024;
const BETWEEN_REPORTS_MS = 250;
const MAX_MODELS_NAMED = 50;

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
function paramsFor(models: readonly ChatModel[]) {
  return z.strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .meta({
        description: `Identifier of the model.\n${modelList(models)}`,
        enum: models.map(({ id }) => id),
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
  make: ({ inference, withdrawnModels }, _prices, charge) =>
    inference ? chatTool(inference, charge, withdrawnModels) : withoutModelServer(),
});

function withoutModelServer(): Tool {
  return unavailableTool({
    name: NAME,
    description:
      "Completes a conversation with a selectable language model. Not available on this installation: " +
      "no model server is configured.",
    scope: "inference:write",
    billable: true,
  });
}

/**
 * Completes a conversation (specification 2.1, 2.2), not streamed. The price is an upper bound known before
 * the call; unless it is charged as quoted, the counted tokens are charged (price.ts). Unavailable while
 * there are no models.
 */
export function chatTool(
  inference: ChatModels,
  charge: Charge = "used",
  former: WithdrawnModels = new WithdrawnModels(),
): Tool {
  const waiting = unavailableTool({
    name: NAME,
    description: `${DESCRIPTION} Not available at present: no model server has answered yet.`,
    scope: "inference:write",
    billable: true,
  });
  let offered: { models: readonly ChatModel[]; tool: Tool } = { models: [], tool: waiting };
  const current = (): Tool => {
    const { models } = inference;
    if (models !== offered.models) {
      former.update(offered.models, models);
      offered = { models, tool: models.length === 0 ? waiting : toolFor(models, inference, charge) };
    }
    return offered.tool;
  };
  return {
    name: NAME,
    billable: waiting.billable,
    scope: waiting.scope,
    fixedPrice: undefined,
    metered: charge === "used",
    annotations: ANNOTATIONS,
    get status() {
      return current().status;
    },
    get description() {
      return current().description;
    },
    get inputSchema() {
      return current().inputSchema;
    },
    prepare: (input) => {
      const tool = current();
      const gone = former.find(input["model"]);
      if (!gone) return tool.prepare(input);
      return unquotedCall(
        (same) => tool.prepare(same),
        toolFor([gone], inference, charge).prepare(input),
        input,
      );
    },
    openai: {
      get models() {
        return inference.models;
      },
      prepare(body) {
        current();
        const prepare = openAiChat(offered.models, inference, charge);
        const gone = former.find(body["model"]);
        if (!gone) return prepare(body);
        return unquotedCall(prepare, openAiChat([gone], inference, charge)(body), body);
      },
    },
  };
}

/**
 * A call for a withdrawn model. It gets no new quote, but a paid earlier quote still credits its payment;
 * the call then fails uncharged.
 */
function unquotedCall(
  prepare: (input: JsonObject) => PreparedCall,
  paid: PreparedCall,
  input: JsonObject,
): PreparedCall {
  return {
    get price() {
      return prepare(input).price;
    },
    run: (context) => paid.run(context),
  };
}

/** Creates the tool for these models. A prepared call keeps the terms it was priced at. */
function toolFor(models: readonly ChatModel[], inference: ChatModels, charge: Charge): Tool {
  const modelOf = finder(models);

  return defineTool({
    name: NAME,
    description: DESCRIPTION,
    scope: "inference:write",
    params: paramsFor(models),
    check: (call) => {
      const { max_tokens } = call;
      const limit = max_tokens === undefined ? undefined : { name: "max_tokens", tokens: max_tokens };
      requireFits({ messages: call.messages, limit }, modelOf(call.model));
    },
    price: (call) => {
      const model = modelOf(call.model);
      return ceilingOf(model, { messages: call.messages, maxTokens: maxTokensOf(call, model) });
    },
    run: async (call, { caller: { accountId }, signal, idempotencyKey, progress, meter }) => {
      const { messages, temperature } = call;
      const model = modelOf(call.model);
      const request = { model: model.id, messages, maxTokens: maxTokensOf(call, model), temperature };
      const options = { signal, accountId, idempotencyKey, onChunk: progress && progressReporter(progress) };
      const completion = await inference.complete(request, options);
      if (charge === "used") meter?.(chargeFor(model, request, completion));
      return resultOf(model.id, completion);
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

/** One line per model with limits and prices. */
function modelList(models: readonly ChatModel[]): string {
  const lines = models
    .slice(0, MAX_MODELS_NAMED)
    .map(
      (model) =>
        `${model.id}: context ${model.contextLength} tokens, answer at most ${model.maxOutputTokens}; USD ` +
        `${formatTokenRate(model.inputRate)} per million tokens of the prompt` +
        rateNote(model.cachedInputRate, "of cached ones") +
        `, ${formatTokenRate(model.outputRate)} of the answer` +
        rateNote(model.reasoningRate, "of reasoning"),
    );
  return lines.join("\n") + more(models);
}

function rateNote(rate: TokenRate | undefined, what: string): string {
  return rate === undefined ? "" : ` (${formatTokenRate(rate)} ${what})`;
}

function more({ length }: readonly unknown[]): string {
  return length > MAX_MODELS_NAMED ? ` and ${length - MAX_MODELS_NAMED} more` : "";
}

function maxTokensOf(call: Params, model: ChatModel): number {
  return call.max_tokens ?? model.maxOutputTokens;
}

function resultOf(model: string, { content, finishReason, usage }: ChatCompletion): JsonObject {
  return {
    type: "text",
    content,
    model,
    usage: usage && usageOf(usage),
    finish_reason: finishReason,
  };
}
