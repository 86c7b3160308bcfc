import { z } from "zod";
import { gatedDeltaNet, mamba2, type Architecture } from "./architecture.ts";
import table from "./models.json" with { type: "json" };

export interface KnownModel extends Architecture {
  /** Name on huggingface.co. */
  readonly id: string;
  readonly parameters: number;
  /** Tokens. */
  readonly maxContext: number;
  /** Parameters per token, in billions; mixtures of experts only. */
  readonly activeParametersB: number | undefined;
  /** Parameters of an image encoder, whose own activations are not modelled. */
  readonly encoderParameters: number;
}

const count = z.int().min(0);

const recurrent = z.discriminatedUnion("kind", [
  z
    .strictObject({
      kind: z.literal("gated_delta_net"),
      layers: count,
      keyHeads: count,
      valueHeads: count,
      keyDim: count,
      valueDim: count,
      kernel: count,
    })
    .transform(gatedDeltaNet),
  z
    .strictObject({
      kind: z.literal("mamba2"),
      layers: count,
      heads: count,
      headDim: count,
      groups: count,
      stateSize: count,
      kernel: count,
    })
    .transform(mamba2),
]);

const row = z.strictObject({
  id: z.string(),
  parameters: count,
  maxContext: count,
  shape: z.tuple([count, count, count, count, count, count, count]),
  tiedEmbeddings: z.boolean().default(false),
  slidingWindow: z.strictObject({ tokens: count, layers: count }).optional(),
  experts: z
    .strictObject({ count, active: count, shared: count, intermediateSize: count, denseLayers: count })
    .optional(),
  latentAttention: z
    .strictObject({
      rank: count,
      ropeDim: count,
      queryRank: count.optional(),
      nopeDim: count,
      valueDim: count,
    })
    .transform(({ queryRank, ...rest }) => ({ ...rest, queryRank }))
    .optional(),
  recurrent: recurrent.optional(),
  attentionLayers: count.optional(),
  feedForwardLayers: count.optional(),
  ungated: z.boolean().default(false),
  gatedAttention: z.boolean().default(false),
  activeParametersB: z.number().optional(),
  encoderParameters: count.default(0),
});

export const KNOWN_MODELS: readonly KnownModel[] = z.array(row).parse(table.models).map(modelOf);

function modelOf({ shape, ungated, ...model }: z.output<typeof row>): KnownModel {
  const [numLayers, hiddenSize, numHeads, numKvHeads, headDim, intermediateSize, vocabSize] = shape;
  return {
    ...model,
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    intermediateSize,
    vocabSize,
    slidingWindow: model.slidingWindow,
    experts: model.experts,
    latentAttention: model.latentAttention,
    recurrent: model.recurrent,
    attentionLayers: model.attentionLayers ?? numLayers - (model.recurrent?.layers ?? 0),
    feedForwardLayers: model.feedForwardLayers ?? numLayers,
    feedForwardMatrices: ungated ? 2 : 3,
    activeParametersB: model.activeParametersB,
  };
}

/** Words of a name that describe tuning, which does not change the architecture. */
const TUNING = new Set(["base", "chat", "hf", "instruct", "it"]);

/** The first model with a name keeps it. */
const BY_NAME = namesOf(KNOWN_MODELS);

/** Finds a model by name: case-insensitive, with or without publisher and tuning words. */
export function findModel(name: string): KnownModel | undefined {
  return BY_NAME.get(name.toLowerCase()) ?? BY_NAME.get(untuned(name));
}

function namesOf(models: readonly KnownModel[]): ReadonlyMap<string, KnownModel> {
  const names = new Map<string, KnownModel>();
  const add = (name: string, model: KnownModel) => names.has(name) || names.set(name, model);
  for (const model of models) add(model.id.toLowerCase(), model);
  for (const model of models) {
    const known = untuned(model.id);
    add(known, model);
    add(known.slice(known.indexOf("/") + 1), model);
  }
  return names;
}

function untuned(name: string): string {
  const words = name.toLowerCase().split("-");
  return words.filter((word) => !TUNING.has(word)).join("-");
}
