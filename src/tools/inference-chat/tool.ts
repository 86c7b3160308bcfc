import { z } from "zod";
import { CHAT_ROLES, type ChatCompletion, type ChatModel, type ChatModels } from "../../domain/tools/chat.ts";
import { invalidField } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { formatTokenRate, type TokenRate } from "../../domain/tools/token-rate.ts";
import type { PreparedCall, ProgressListener, Tool } from "../../domain/tools/tool.ts";
import { builtIn, type Charge } from "../built-in.ts";
import { unavailableTool, defineTool } from "../define-tool.ts";
import { closestFirst } from "../closest-names.ts";
import { WithdrawnModels } from "./withdrawn-models.ts";
import { ceilingOf, chargeFor } from "./price.ts";
import { minPromptTokens } from "./prompt-tokens.ts";

const NAME = "inference_chat";
const ANNOTATIONS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true };
const DESCRIPTION =
  "Completes a conversation with a selectable language model. The price depends on the model, the " +
  "length of the conversation and max_tokens; the tokens that the model server counts are charged.";

const MAX_MESSAGES = 1_024;
const BETWEEN_REPORTS_MS = 250;
/** Limits of the lists in the description and in errors. */
const [MAX_MODELS_NAMED, MAX_MODELS_IN_ERROR] = [50, 5];

const messages = z
  .array(
    z.strictObject({
      role: z.enum(CHAT_ROLES).describe("Author of the message"),
      content: z.string().max(1_048_576).describe("Text of the message"),
    }),
  )
  .min(1)
  .max(MAX_MESSAGES)
  .describe("The conversation so far, oldest turn first");

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
  make: ({ inference }, _prices, charge) => (inference ? chatTool(inference, charge) : withoutModelServer()),
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
export function chatTool(inference: ChatModels, charge: Charge = "used"): Tool {
  const waiting = unavailableTool({
    name: NAME,
    description: `${DESCRIPTION} Not available at present: no model server has answered yet.`,
    scope: "inference:write",
    billable: true,
  });
  let offered: { models: readonly ChatModel[]; tool: Tool } = { models: [], tool: waiting };
  const former = new WithdrawnModels();
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
      return gone
        ? unquotedCall(tool, toolFor([gone], inference, charge).prepare(input), input)
        : tool.prepare(input);
    },
  };
}

/**
 * A call for a withdrawn model. It gets no new quote, but a paid earlier quote still credits its payment;
 * the call then fails uncharged.
 */
function unquotedCall(tool: Tool, paid: PreparedCall, input: JsonObject): PreparedCall {
  return {
    get price() {
      return tool.prepare(input).price;
    },
    run: (context) => paid.run(context),
  };
}

/** Creates the tool for these models. A prepared call keeps the terms it was priced at. */
function toolFor(models: readonly ChatModel[], inference: ChatModels, charge: Charge): Tool {
  const byId = new Map(models.map((model) => [model.id, model]));

  function modelOf(call: Params): ChatModel {
    const model = byId.get(call.model);
    if (model) return model;
    throw invalidField("params.model", unknownModelMessage(call.model, [...byId.keys()]));
  }

  return defineTool({
    name: NAME,
    description: DESCRIPTION,
    scope: "inference:write",
    params: paramsFor(models),
    check: (call) => requireFits(call, modelOf(call)),
    price: (call) => {
      const model = modelOf(call);
      return ceilingOf(model, { messages: call.messages, maxTokens: maxTokensOf(call, model) });
    },
    run: async (call, { caller: { accountId }, signal, idempotencyKey, progress, meter }) => {
      const { messages, temperature } = call;
      const model = modelOf(call);
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

/** Suggests the closest names and where to find the others. */
function unknownModelMessage(wanted: string, names: readonly string[]): string {
  const named = closestFirst(wanted, names).slice(0, MAX_MODELS_IN_ERROR).join(", ");
  const others = names.length - MAX_MODELS_IN_ERROR;
  if (others <= 0) return `is not offered; there are ${named}`;
  return `is not offered; the closest are ${named}; GET /mcp/capabilities lists ${others} more`;
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

/** Rejects, before a quote, parameters that the model certainly refuses. */
function requireFits(call: Params, model: ChatModel): void {
  const { contextLength, maxOutputTokens } = model;
  if (call.max_tokens !== undefined && call.max_tokens > maxOutputTokens) {
    throw invalidField("params.max_tokens", `must be at most ${maxOutputTokens} for ${model.id}`);
  }
  const prompt = minPromptTokens(call.messages);
  const answer = maxTokensOf(call, model);
  if (prompt + answer <= contextLength) return;
  throw invalidField(
    "params.messages",
    `the prompt (at least ${prompt} tokens) and the answer (${answer} tokens) exceed the ` +
      `${contextLength} tokens of ${model.id}; shorten the messages or lower max_tokens`,
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
      ...(usage.cachedTokens !== undefined && {
        prompt_tokens_details: { cached_tokens: usage.cachedTokens },
      }),
      ...(usage.reasoningTokens !== undefined && {
        completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      }),
    },
    finish_reason: finishReason,
  };
}
