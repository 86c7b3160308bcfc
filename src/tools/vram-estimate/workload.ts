import { invalidField } from "../../domain/core/errors.ts";
import { closestFirst } from "../closest-names.ts";
import {
  architectureOfSize,
  plainArchitecture,
  SIZE_ASSUMPTION,
  usualIntermediateSize,
} from "./architecture.ts";
import { requireDivisible, type Divisible } from "./gpus.ts";
import type { Recomputation, Workload } from "./memory.ts";
import { findModel, KNOWN_MODELS, type KnownModel } from "./models.ts";
import { ARCHITECTURE_MEMBERS, type VramParams } from "./params.ts";
import type { Quantised } from "./quantization.ts";
import { countParameters } from "./tensors.ts";
import { computeDtype } from "./weights.ts";

const DEFAULT_CONTEXT = 4_096;

/** A complete request for an estimate. */
export interface ResolvedWorkload extends Workload, Subject {
  readonly mode: VramParams["mode"];
  readonly recomputation: Recomputation;
  /** Requested degree of tensor parallelism. */
  readonly tensorParallel: number | undefined;
}

/** Merges parameters, model table and defaults. @throws ToolgateError INVALID_REQUEST when contradictory */
export function resolveWorkload(params: VramParams): ResolvedWorkload {
  requireForMode(params);
  requireForQuantization(params);
  const subject = resolveSubject(params);
  if (params.tensor_parallel !== undefined) requireDivisible(subject, params.tensor_parallel);
  const recomputation = params.activation_recomputation ?? "selective";
  return {
    ...subject,
    encoderParameters: subject.model?.encoderParameters ?? 0,
    mode: params.mode,
    training: params.mode === "training" ? recomputation : undefined,
    dtype: params.dtype,
    quantization: params.quantization,
    kvCacheDtype: params.kv_cache_dtype ?? computeDtype(params.dtype),
    contextLength: contextLengthOf(params, subject.model),
    batchSize: params.batch_size,
    recomputation,
    tensorParallel: params.tensor_parallel,
  };
}

function requireForMode({ mode, dtype, kv_cache_dtype, activation_recomputation }: VramParams): void {
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

function requireForQuantization({ mode, dtype, quantization }: VramParams): void {
  if (quantization === undefined) return;
  if (mode === "training")
    throw invalidField("params.quantization", "training needs whole weights; leave it out");
  if (dtype === "float16" || dtype === "bfloat16") return;
  throw invalidField(
    "params.dtype",
    "cannot go together with quantization, which says the format of the weights; leave it out, or " +
      "give float16 or bfloat16",
  );
}

function contextLengthOf({ context_length: asked }: VramParams, model: KnownModel | undefined): number {
  const limit = model?.maxContext ?? Number.POSITIVE_INFINITY;
  if (asked === undefined) return Math.min(DEFAULT_CONTEXT, limit);
  if (asked > limit) throw invalidField("params.context_length", `must be at most ${limit} for ${model?.id}`);
  return asked;
}

const DEFAULT_HEAD_DIM = 128;
const DEFAULT_VOCABULARY = 128_000;
const MODELS_IN_ERROR = 5;
/** Upper limit of parameters_b; numbers stay exact far beyond. */
const MAX_PARAMETERS = 1e14;

const GUESSED = { headsGuessed: true, shapeGuessed: true } as const;
const KNOWN = { headsGuessed: false, shapeGuessed: false } as const;

export interface Subject extends Quantised, Divisible {
  /** The published model, if named. */
  readonly model: KnownModel | undefined;
  readonly parameters: number;
  /** Assumptions about unspecified properties. */
  readonly assumptions: readonly string[];
}

/** Resolves the model. @throws ToolgateError INVALID_REQUEST for contradictory parameters */
function resolveSubject(params: VramParams): Subject {
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
    throw invalidField(
      "params",
      "give a model, or parameters_b, or the architecture (num_layers, hidden_size, …)",
    );
  }
  const parameters = Math.round(params.parameters_b * 1e9);
  const architecture = architectureOfSize(parameters);
  return { model: undefined, architecture, parameters, ...GUESSED, assumptions: [SIZE_ASSUMPTION] };
}

function knownSubject(name: string): Subject {
  const model = findModel(name);
  if (!model) {
    const ids = KNOWN_MODELS.map(({ id }) => id);
    const closest = closestFirst(name, ids).slice(0, MODELS_IN_ERROR).join(", ");
    throw invalidField(
      "params.model",
      "is not in the table; give parameters_b or the architecture instead; the closest of " +
        `${ids.length} are ${closest}`,
    );
  }
  return { model, architecture: model, parameters: model.parameters, ...KNOWN, assumptions: [] };
}

function describedSubject(params: VramParams): Subject {
  const { num_layers: numLayers, hidden_size: hiddenSize } = params;
  if (numLayers === undefined)
    throw invalidField("params.num_layers", "is required when the architecture is given");
  if (hiddenSize === undefined)
    throw invalidField("params.hidden_size", "is required when the architecture is given");
  const headDim = params.head_dim ?? headDimOf(hiddenSize, params.num_attention_heads);
  const numHeads = params.num_attention_heads ?? Math.max(1, Math.round(hiddenSize / headDim));
  const numKvHeads = params.num_kv_heads ?? numHeads;
  if (numHeads % numKvHeads !== 0) {
    throw invalidField(
      "params.num_kv_heads",
      `must divide the number of query heads, ${numHeads}; each key-value head serves as many of them`,
    );
  }
  const guessed = {
    headsGuessed: params.num_attention_heads === undefined,
    shapeGuessed: params.intermediate_size === undefined,
  };
  const architecture = plainArchitecture({
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    intermediateSize: params.intermediate_size ?? usualIntermediateSize(hiddenSize),
    vocabSize: params.vocab_size ?? DEFAULT_VOCABULARY,
    tiedEmbeddings: false,
  });
  if (params.parameters_b !== undefined) {
    const parameters = Math.round(params.parameters_b * 1e9);
    return { model: undefined, architecture, parameters, ...guessed, assumptions: [] };
  }
  const parameters = countParameters(architecture);
  if (parameters > MAX_PARAMETERS)
    throw invalidField("params", "the architecture has more than 100000 billion parameters");
  return { model: undefined, architecture, parameters, ...guessed, assumptions: [COUNT_ASSUMPTION] };
}

const COUNT_ASSUMPTION =
  "the parameters are counted from the architecture of a dense decoder with a gated feed-forward " +
  "network and separate input and output embeddings; " +
  "give parameters_b as well for other models";

function headDimOf(hiddenSize: number, numHeads: number | undefined): number {
  if (numHeads === undefined) return DEFAULT_HEAD_DIM;
  if (hiddenSize % numHeads === 0) return hiddenSize / numHeads;
  throw invalidField(
    "params.head_dim",
    `is required, as hidden_size ${hiddenSize} is not a multiple of num_attention_heads ${numHeads}`,
  );
}
