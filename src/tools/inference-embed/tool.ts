import { z } from "zod";
import type { JsonObject } from "../../domain/core/json.ts";
import {
  type ChatModel,
  type EmbeddingModels,
  type EmbeddingRequest,
  type Embeddings,
  formatTokenRate,
  priceOfTokens,
} from "../../domain/tools/chat.ts";
import type { PreparedCall, Tool, ToolContext } from "../../domain/tools/tool.ts";
import { builtIn, type Charge } from "../built-in.ts";
import { defineTool } from "../define-tool.ts";
import { modelTool, type PrepareFor, toolForm, withoutModels } from "../inference-chat/model-tool.ts";
import { finder, modelLines } from "../inference-chat/models.ts";
import { WithdrawnModels } from "../withdrawn-models.ts";
import { ceilingOfInput, estimatedTokens, requireInputFits, texts, readInput } from "./input.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { explainIssues } from "../explain-issues.ts";

const NAME = "inference_embed";
const DESCRIPTION =
  "Computes the embedding vectors of texts with a selectable model. The price depends on the model and the " +
  "length of the texts; the tokens that the model server counts are charged.";

/** Of one answer: it has to fit into a gRPC message of 4 MiB. */
const MAX_NUMBERS = 262_144;

export const inferenceEmbed = builtIn({
  name: NAME,
  docs: { price: "by model and length of the texts", does: "computes embedding vectors" },
  metered: true,
  // The specification has no such tool. Quotes for former models may still be paid.
  isListed: ({ inference, withdrawnModels }) =>
    [...(inference?.models ?? []), ...(withdrawnModels?.all() ?? [])].some(isEmbedding),
  make: ({ inference, withdrawnModels }, _prices, charge) =>
    inference
      ? embedTool(inference, charge, withdrawnModels)
      : withoutModels(NAME, `${DESCRIPTION} Not available on this installation: no model is configured.`),
});

function isEmbedding({ dimensions }: ChatModel): boolean {
  return dimensions !== undefined;
}

/** Computes embeddings. Quoted by a bound of the tokens; unless charged as quoted, the count is charged. */
function embedTool(
  inference: EmbeddingModels,
  charge: Charge = "used",
  former: WithdrawnModels = new WithdrawnModels(),
): Tool {
  return modelTool({
    name: NAME,
    description: DESCRIPTION,
    isMetered: charge === "used",
    former,
    models: () => inference.models,
    sells: isEmbedding,
    forms: ["openai"],
    formsFor: (models) => {
      const modelOf = finder(models);
      const prepared: PrepareEmbeddings = (request, formOf) =>
        preparedCall(inference, charge, modelOf(request.model), request, formOf);
      return {
        ...toolForm(toolFor(models, prepared)),
        apis: { openai: openAiEmbeddings(modelOf, prepared) },
      };
    },
  });
}

function preparedCall(
  inference: EmbeddingModels,
  charge: Charge,
  model: ChatModel,
  request: EmbeddingRequest,
  formOf: (made: Embeddings, usage: JsonObject) => JsonObject,
): PreparedCall {
  return {
    price: ceilingOfInput(model, request.input),
    async run({ caller: { accountId }, signal, idempotencyKey, meter, noteModel, span }: ToolContext) {
      noteModel?.({ model: model.id });
      const made = await inference.embed(request, { signal, accountId, idempotencyKey, span });
      noteModel?.({ model: model.id, cost: made.cost });
      const tokens = made.promptTokens ?? estimatedTokens(model, request.input);
      if (charge === "used") meter?.(priceOfTokens({ tokens, rate: model.inputRate }));
      const isEstimated = made.promptTokens === undefined;
      return formOf(made, {
        prompt_tokens: tokens,
        total_tokens: tokens,
        ...(isEstimated && { estimated: true }),
      });
    },
  };
}

function paramsFor(models: readonly ChatModel[]) {
  return z.strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .meta({
        description: `Identifier of the model.\n${modelLines(models, lineOf)}`,
        enum: models.map(({ id }) => id),
      }),
    input: texts.describe("The texts, a vector for each"),
    dimensions: z
      .int()
      .min(1)
      .optional()
      .describe("Numbers of each vector, for models that can shorten theirs. Default: the model's"),
  });
}

function toolFor(models: readonly ChatModel[], prepare: PrepareEmbeddings) {
  const modelOf = finder(models);
  const prepared = (request: EmbeddingRequest) =>
    prepare(request, (made, usage) => resultOf(request.model, made, usage));
  return defineTool({
    name: NAME,
    description: DESCRIPTION,
    scope: "inference:write",
    params: paramsFor(models),
    check: ({ model, input, dimensions }) => requireInputFits(modelOf(model), input, dimensions, MAX_NUMBERS),
    price: ({ model, input, dimensions }) => prepared({ model, input, dimensions }).price,
    run: ({ model, input, dimensions }, context) => prepared({ model, input, dimensions }).run(context),
  });
}

function lineOf({ id, contextLength, dimensions, inputRate }: ChatModel): string {
  const price = `USD ${formatTokenRate(inputRate)} per million tokens`;
  return `${id}: ${dimensions} numbers, text of at most ${contextLength} tokens; ${price}`;
}

function resultOf(model: string, { vectors }: Embeddings, usage: JsonObject): JsonObject {
  return {
    type: "embeddings",
    model,
    embeddings: vectors.map((vector) => [...vector]),
    usage,
  };
}

/** Prepares a request whose model and size were checked. */
type PrepareEmbeddings = (
  request: EmbeddingRequest,
  formOf: (made: Embeddings, usage: JsonObject) => JsonObject,
) => PreparedCall;

/** Of one answer: 5.6 MB of base64. */
const MAX_BASE64_NUMBERS = 1_048_576;

/** OpenAI API, "Create embeddings", without `encoding_format`, which is the transport's. */
const body = z.strictObject({
  model: z.string().min(1).max(256),
  input: z.unknown(),
  dimensions: z.int().min(1).nullish(),
  user: z.unknown().optional(),
});
const MEMBERS: JsonObject = {
  properties: {
    ...Object.fromEntries(Object.keys(body.shape).map((name) => [name, {}])),
    encoding_format: {},
  },
};

/** Returns the function that prepares a request of the OpenAI API. Its answer has the vectors as base64. */
function openAiEmbeddings(modelOf: (id: string) => ChatModel, prepare: PrepareEmbeddings): PrepareFor {
  return (sent) => {
    const parsed = body.safeParse(sent, { reportInput: true });
    if (!parsed.success)
      throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, MEMBERS));
    const { model: id, dimensions: wanted } = parsed.data;
    if (!("input" in sent)) throw invalidField("params.input", "is required");
    const model = modelOf(id);
    const input = readInput(sent["input"]);
    const dimensions = wanted ?? undefined;
    requireInputFits(model, input, dimensions, MAX_BASE64_NUMBERS);
    return prepare({ model: id, input, dimensions }, (made, usage) => answerOf(id, made, usage));
  };
}

/** OpenAI API, "The embedding object". */
function answerOf(model: string, { vectors }: Embeddings, usage: JsonObject): JsonObject {
  return {
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: base64Of(vector) })),
    model,
    usage,
  };
}

/** Float32 in little-endian order. */
function base64Of(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4));
  vector.forEach((number, at) => bytes.setFloat32(at * 4, number, true));
  return Buffer.from(bytes.buffer).toString("base64");
}
