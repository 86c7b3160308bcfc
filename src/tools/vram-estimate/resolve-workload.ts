import { invalidField } from "../../domain/core/errors.ts";
import type { Recomputation } from "./activations.ts";
import { computeDtype } from "./dtypes.ts";
import type { Workload } from "./memory.ts";
import type { KnownModel } from "./models.ts";
import type { VramParams } from "./params.ts";
import { resolveSubject, type Subject } from "./resolve-subject.ts";
import { demandDivisible } from "./tensor-parallel.ts";

const DEFAULT_CONTEXT = 4_096;

/** What is to be estimated. */
export interface ResolvedWorkload extends Workload, Subject {
  readonly mode: VramParams["mode"];
  readonly recomputation: Recomputation;
  /** GPUs that share every layer, if that was said. */
  readonly tensorParallel: number | undefined;
}

/**
 * Joins the parameters with the table of models and the defaults.
 * @throws ToolgateError INVALID_REQUEST for parameters that do not go together
 */
export function resolveWorkload(params: VramParams): ResolvedWorkload {
  demandForMode(params);
  demandForQuantization(params);
  const subject = resolveSubject(params);
  if (params.tensor_parallel !== undefined) demandDivisible(subject, params.tensor_parallel);
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

function demandForQuantization({ mode, dtype, quantization }: VramParams): void {
  if (quantization === undefined) return;
  if (mode === "training")
    throw invalidField("params.quantization", "training needs whole weights; leave it out");
  if (dtype === "float16" || dtype === "bfloat16") return;
  throw invalidField(
    "params.dtype",
    "cannot go together with quantization, which says the format of the weights; leave it out, or give float16 or bfloat16",
  );
}

function contextLengthOf({ context_length: asked }: VramParams, model: KnownModel | undefined): number {
  const limit = model?.maxContext ?? Number.POSITIVE_INFINITY;
  if (asked === undefined) return Math.min(DEFAULT_CONTEXT, limit);
  if (asked > limit) throw invalidField("params.context_length", `must be at most ${limit} for ${model?.id}`);
  return asked;
}
