import { expect } from "vitest";
import { z } from "zod";
import { NO_DEPS } from "../no-deps.ts";
import { vramEstimate } from "../../../src/tools/vram-estimate/tool.ts";
import { toolContext } from "../tool-context.ts";

const size = z.strictObject({ bytes: z.int(), gib: z.number() });

/** Sizes on one GPU by purpose. */
const sizes = {
  weights: size,
  kv_cache: size,
  recurrent_state: size,
  activations: size,
  gradients: size,
  optimizer_state: size,
  overhead: size,
  total: size,
};

/** The result as documented in docs/reference/tools.md. */
const resultShape = z.strictObject({
  model: z.string().nullable(),
  mode: z.enum(["inference", "training"]),
  ...sizes,
  kv_cache_bytes_per_token: z.int(),
  per_gpu: z.strictObject({
    tensor_parallel: z.int(),
    kv_heads: z.int(),
    replicated_weights: size,
    communication: size,
    ...sizes,
  }),
  inputs: z.looseObject({
    parameters: z.int(),
    active_parameters: z.int(),
    bits_per_weight: z.number(),
    num_layers: z.int(),
    context_length: z.int(),
  }),
  assumptions: z.array(z.string()).min(1),
  gpus: z
    .array(
      z.strictObject({
        name: z.string(),
        memory_gib: z.number(),
        fits: z.boolean(),
        needed: z.int().min(1),
        tensor_parallel: z.int().min(1),
        pipeline_parallel: z.int().min(1),
      }),
    )
    .min(1),
});

export type Estimate = z.infer<typeof resultShape>;

/** Runs an estimate as a caller would and parses the result strictly. */
export async function estimate(params: Record<string, string | number>): Promise<Estimate> {
  return resultShape.parse(
    await vramEstimate.make(NO_DEPS, { flat_microusd: 1_000n }).prepare(params).run(toolContext()),
  );
}

/** Whole and per GPU, the parts are the total, in exact bytes. */
export function expectToAddUp(found: Estimate): void {
  for (const { total, ...rest } of [{ ...found, communication: { bytes: 0 } }, found.per_gpu]) {
    const { weights, kv_cache, recurrent_state, activations, gradients, ...more } = rest;
    const sizes = [weights, kv_cache, recurrent_state, activations, gradients];
    const parts = [...sizes, more.optimizer_state, more.overhead, more.communication].map(
      ({ bytes }) => bytes,
    );
    expect(Math.min(...parts)).toBeGreaterThanOrEqual(0);
    expect(parts.reduce((sum, bytes) => sum + bytes, 0)).toBe(total.bytes);
  }
  expect(found.inputs.active_parameters).toBeLessThanOrEqual(found.inputs.parameters);
}

export function gpuOf({ gpus }: Estimate, name: string): Estimate["gpus"][number] {
  const found = gpus.find((gpu) => gpu.name === name);
  if (!found) throw new Error(`no GPU is called ${name}`);
  return found;
}
