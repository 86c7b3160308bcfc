import { z } from "zod";
import { vramEstimate } from "../../../src/tools/vram-estimate/tool.ts";
import { toolContext } from "../tool-context.ts";

const size = z.strictObject({ bytes: z.int(), gib: z.number() });

/** The result as docs/tools.md promises it. */
const resultShape = z.strictObject({
  model: z.string().nullable(),
  mode: z.enum(["inference", "training"]),
  weights: size,
  kv_cache: size,
  activations: size,
  gradients: size,
  optimizer_state: size,
  overhead: size,
  total: size,
  kv_cache_bytes_per_token: z.int(),
  inputs: z.looseObject({ parameters: z.int(), num_layers: z.int(), context_length: z.int() }),
  assumptions: z.array(z.string()).min(1),
  gpus: z
    .array(z.strictObject({ name: z.string(), memory_gib: z.number(), fits: z.boolean(), needed: z.int() }))
    .min(1),
});

/** Estimates the way a caller would, and reads the result strictly. */
export async function estimate(params: Record<string, string | number>): Promise<z.infer<typeof resultShape>> {
  return resultShape.parse(await vramEstimate(1_000n).prepare(params).run(toolContext()));
}
