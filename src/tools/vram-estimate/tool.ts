import { invalidField } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import { defineTool } from "../define-tool.ts";
import { memoryOn, totalOf } from "./memory.ts";
import { vramParams, type VramParams } from "./params.ts";
import { resolveWorkload } from "./resolve-workload.ts";
import { resultOf } from "./result.ts";

/** The largest integer that JSON numbers carry exactly. */
const MAX_BYTES = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * `vram_estimate`: GPU memory for serving or training a language model, with the formula's inputs and the GPUs that it fits.
 * @param price what an estimate costs, in micro-USD
 */
export function vramEstimate(price: MicroUsd): Tool {
  return defineTool({
    name: "vram_estimate",
    description:
      "Estimates the GPU memory that a language model needs for inference or training: weights, key-value cache, activations, gradients, optimizer state and overhead, for one GPU and for several that share it, and which GPUs hold it. " +
      "Give a published model, or its number of parameters, or its architecture.",
    scope: "compute:read",
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    params: vramParams,
    price,
    check: demandEstimable,
    run: (params) => resultOf(resolveWorkload(params)),
  });
}

/** Refuses before the money what could not be told after it. @throws ToolgateError INVALID_REQUEST */
function demandEstimable(params: VramParams): void {
  const workload = resolveWorkload(params);
  const { tensorParallel = 1 } = workload;
  const isTold = (gpus: number) => totalOf(memoryOn(workload, gpus)) <= MAX_BYTES;
  if (isTold(1) && (tensorParallel === 1 || isTold(tensorParallel))) return;
  throw invalidField(
    "params",
    "the estimate exceeds 8 PiB; lower batch_size, context_length or the size of the model",
  );
}
