import { invalidField } from "../../domain/core/errors.ts";
import { builtIn } from "../built-in.ts";
import { defineTool } from "../define-tool.ts";
import { memoryOn, totalOf } from "./memory.ts";
import { vramParams, type VramParams } from "./params.ts";
import { resultOf } from "./result.ts";
import { resolveWorkload } from "./workload.ts";

/** Exact in JSON. */
const MAX_BYTES = BigInt(Number.MAX_SAFE_INTEGER);

/** Estimates GPU memory for inference or training of a language model. */
export const vramEstimate = builtIn({
  name: "vram_estimate",
  docs: { price: "flat", does: "estimates GPU memory" },
  prices: { flat_microusd: { default: 1_000, description: "Price of an estimate" } },
  make: (_deps, prices) =>
    defineTool({
      name: "vram_estimate",
      description:
        "Estimates the GPU memory that a language model needs for inference or training: weights, " +
        "key-value cache, activations, gradients, optimizer state and overhead, for one GPU and for " +
        "several that share it, and which GPUs hold it. " +
        "Give a published model, or its number of parameters, or its architecture.",
      scope: "compute:read",
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
      params: vramParams,
      price: prices.flat_microusd,
      check: requireEstimable,
      run: (params) => resultOf(resolveWorkload(params)),
    }),
});

/** Rejects, before payment, inputs whose result cannot be expressed. @throws ToolgateError INVALID_REQUEST */
function requireEstimable(params: VramParams): void {
  const workload = resolveWorkload(params);
  const { tensorParallel = 1 } = workload;
  const isExact = (gpus: number) => totalOf(memoryOn(workload, gpus)) <= MAX_BYTES;
  if (isExact(1) && (tensorParallel === 1 || isExact(tensorParallel))) return;
  throw invalidField(
    "params",
    "the estimate exceeds 8 PiB; lower batch_size, context_length or the size of the model",
  );
}
