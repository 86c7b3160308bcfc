import { invalidField } from "../../domain/errors.ts";
import {
  architectureOfSize,
  countParameters,
  SIZE_ASSUMPTION,
  usualIntermediateSize,
  type Architecture,
} from "./architecture.ts";
import { computeDtype } from "./dtypes.ts";
import type { Recomputation, Workload } from "./memory.ts";
import { findModel } from "./find-model.ts";
import { KNOWN_MODELS, type KnownModel } from "./models.ts";
import { ARCHITECTURE_MEMBERS, type VramParams } from "./params.ts";

const DEFAULT_CONTEXT = 4_096;
const DEFAULT_HEAD_DIM = 128;
const DEFAULT_VOCABULARY = 128_000;
/** As many as parameters_b can say; numbers stay exact far beyond. */
const MOST_PARAMETERS = 1e14;

/** What is to be estimated. */
export interface ResolvedWorkload extends Workload {
  /** The published model, if one was named. */
  readonly model: KnownModel | undefined;
  readonly mode: VramParams["mode"];
  readonly recomputation: Recomputation;
  /** What was assumed about the model because it was not said. */
  readonly assumptions: readonly string[];
}

type Subject = Pick<ResolvedWorkload, "model" | "architecture" | "parameters" | "assumptions">;

/**
 * Joins the parameters with the table of models and the defaults.
 * @throws ToolgateError INVALID_REQUEST for parameters that do not go together
 */
export function resolveWorkload(params: VramParams): ResolvedWorkload {
  demandForMode(params);
  const subject = subjectOf(params);
  return {
    ...subject,
    mode: params.mode,
    dtype: params.dtype,
    kvCacheDtype: params.kv_cache_dtype ?? computeDtype(params.dtype),
    contextLength: contextLengthOf(params, subject.model),
    batchSize: params.batch_size,
    recomputation: params.activation_recomputation ?? "selective",
  };
}

function demandForMode({ mode, dtype, kv_cache_dtype, activation_recomputation }: VramParams): void {
  if (mode === "inference") {
    if (activation_recomputation === undefined) return;
    throw invalidField(
      "params.activation_recomputation",
      'has a meaning only in training; leave it out or set mode to "training"',
    );
  }
  if (kv_cache_dtype !== undefined)
    throw invalidField("params.kv_cache_dtype", "training keeps no key-value cache; leave it out");
  if (dtype === "int8" || dtype === "int4")
    throw invalidField("params.dtype", "training needs float32, float16 or bfloat16");
}

function subjectOf(params: VramParams): Subject {
  const given = ARCHITECTURE_MEMBERS.filter((member) => params[member] !== undefined);
  if (params.model !== undefined) {
    const extra = params.parameters_b === undefined ? given[0] : "parameters_b";
    if (extra)
      throw invalidField(
        `params.${extra}`,
        "cannot go together with model, which says it already; leave one of them out",
      );
    return knownSubject(params.model);
  }
  if (given.length > 0) return describedSubject(params);
  if (params.parameters_b === undefined) {
    throw invalidField("params", "give a model, or parameters_b, or the architecture (num_layers, hidden_size, …)");
  }
  const parameters = Math.round(params.parameters_b * 1e9);
  return { model: undefined, architecture: architectureOfSize(parameters), parameters, assumptions: [SIZE_ASSUMPTION] };
}

function knownSubject(name: string): Subject {
  const model = findModel(name);
  if (!model) {
    const names = KNOWN_MODELS.map((known) => known.id).join(", ");
    throw invalidField(
      "params.model",
      `is not in the table; give parameters_b or the architecture instead, or one of ${names}`,
    );
  }
  return { model, architecture: model, parameters: model.parameters, assumptions: [] };
}

function describedSubject(params: VramParams): Subject {
  const { num_layers: numLayers, hidden_size: hiddenSize } = params;
  if (numLayers === undefined) throw invalidField("params.num_layers", "is required when the architecture is given");
  if (hiddenSize === undefined) throw invalidField("params.hidden_size", "is required when the architecture is given");
  const headDim = params.head_dim ?? headDimOf(hiddenSize, params.num_attention_heads);
  const numHeads = params.num_attention_heads ?? Math.max(1, Math.round(hiddenSize / headDim));
  const numKvHeads = params.num_kv_heads ?? numHeads;
  if (numHeads % numKvHeads !== 0) {
    throw invalidField(
      "params.num_kv_heads",
      `must divide the number of query heads, ${numHeads}; each key-value head serves as many of them`,
    );
  }
  const architecture: Architecture = {
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    intermediateSize: params.intermediate_size ?? usualIntermediateSize(hiddenSize),
    vocabSize: params.vocab_size ?? DEFAULT_VOCABULARY,
    tiedEmbeddings: false,
    slidingWindow: undefined,
    experts: undefined,
    latentAttention: undefined,
  };
  if (params.parameters_b !== undefined) {
    return { model: undefined, architecture, parameters: Math.round(params.parameters_b * 1e9), assumptions: [] };
  }
  const parameters = countParameters(architecture);
  if (parameters > MOST_PARAMETERS)
    throw invalidField("params", "the architecture has more than 100000 billion parameters");
  return { model: undefined, architecture, parameters, assumptions: [COUNT_ASSUMPTION] };
}

const COUNT_ASSUMPTION =
  "the parameters are counted from the architecture of a dense decoder with a gated feed-forward network and separate input and output embeddings; " +
  "give parameters_b as well for other models";

function headDimOf(hiddenSize: number, numHeads: number | undefined): number {
  if (numHeads === undefined) return DEFAULT_HEAD_DIM;
  if (hiddenSize % numHeads === 0) return hiddenSize / numHeads;
  throw invalidField(
    "params.head_dim",
    `is required, as hidden_size ${hiddenSize} is no multiple of num_attention_heads ${numHeads}`,
  );
}

function contextLengthOf({ context_length: asked }: VramParams, model: KnownModel | undefined): number {
  const limit = model?.maxContext ?? Number.POSITIVE_INFINITY;
  if (asked === undefined) return Math.min(DEFAULT_CONTEXT, limit);
  if (asked > limit) throw invalidField("params.context_length", `must be at most ${limit} for ${model?.id}`);
  return asked;
}
