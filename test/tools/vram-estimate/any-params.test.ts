import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import { KNOWN_MODELS } from "../../../src/tools/vram-estimate/models.ts";
import { QUANTIZATIONS } from "../../../src/tools/vram-estimate/quantization.ts";
import { estimate, expectToAddUp, type Estimate } from "./estimate.ts";

const upTo = (max: number) =>
  fc.oneof(
    fc.integer({ min: 1, max }),
    fc.integer({ min: 1, max: Math.min(max, 64) }),
    fc.constantFrom(1, max),
  );
const parametersB = fc.oneof(fc.double({ min: 1e-6, max: 1e5, noNaN: true }), fc.constantFrom(1e-6, 1e5));

const subject = fc.oneof(
  fc.record({ model: fc.constantFrom(...KNOWN_MODELS.map(({ id }) => id)) }),
  fc.record({ parameters_b: parametersB }),
  fc.record(
    {
      num_layers: upTo(10_000),
      hidden_size: upTo(1_000_000),
      num_attention_heads: upTo(10_000),
      num_kv_heads: fc.oneof(fc.constant(1), upTo(10_000)),
      head_dim: upTo(10_000),
      intermediate_size: upTo(1_000_000),
      vocab_size: upTo(10_000_000),
      parameters_b: parametersB,
    },
    { requiredKeys: ["num_layers", "hidden_size"] },
  ),
);
const common = { context_length: upTo(10_000_000), batch_size: upTo(65_536), tensor_parallel: upTo(128) };
const workload = fc.oneof(
  fc.record(
    { ...common, quantization: fc.constantFrom(...QUANTIZATIONS) },
    { requiredKeys: ["quantization"] },
  ),
  fc.record(
    {
      ...common,
      dtype: fc.constantFrom("float32", "float16", "bfloat16", "int8", "int4"),
      kv_cache_dtype: fc.constantFrom("float32", "float8", "int8", "int4"),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    {
      ...common,
      mode: fc.constant("training"),
      dtype: fc.constantFrom("float32", "float16", "bfloat16"),
      activation_recomputation: fc.constantFrom("none", "selective", "full"),
    },
    { requiredKeys: ["mode"] },
  ),
);

/** Returns the estimate, or undefined for a rejection with a message for the caller. */
async function estimateOrRefusal(params: Record<string, string | number>): Promise<Estimate | undefined> {
  try {
    return await estimate(params);
  } catch (error) {
    if (!(error instanceof ToolgateError)) throw error;
    expect(error.code).toBe("INVALID_REQUEST");
    expect(error.message).toMatch(/^params[.: ]/);
    return undefined;
  }
}

/** More memory never needs more GPUs. */
function expectToFit({ per_gpu, gpus }: Estimate): void {
  let fewest = Infinity;
  for (const { name, memory_gib, needed, fits, tensor_parallel, pipeline_parallel } of gpus) {
    expect(needed, name).toBe(tensor_parallel * pipeline_parallel);
    expect(fits, name).toBe(needed === per_gpu.tensor_parallel);
    if (Math.abs(per_gpu.total.gib - memory_gib) > 0.002)
      expect(fits, name).toBe(per_gpu.total.gib < memory_gib);
    expect(needed, name).toBeLessThanOrEqual(fewest);
    fewest = needed;
  }
}

describe("estimate of random parameters", () => {
  it("is consistent, or rejected naming the field", async () => {
    let estimated = 0;
    const property = fc.asyncProperty(subject, workload, async (what, how) => {
      const found = await estimateOrRefusal({ ...what, ...how });
      if (!found) return;
      estimated++;
      expectToAddUp(found);
      expectToFit(found);
    });
    await fc.assert(property, { numRuns: 300 });
    expect(estimated).toBeGreaterThan(50);
  });
});
