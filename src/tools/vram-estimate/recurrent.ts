import type { Recurrent } from "./architecture.ts";

/** Heads, dimensions and kernel as linear_num_key_heads, linear_num_value_heads, … of the config.json name them. */
interface DeltaNet {
  readonly layers: number;
  readonly keyHeads: number;
  readonly valueHeads: number;
  readonly keyDim: number;
  readonly valueDim: number;
  readonly kernel: number;
}

/**
 * Gated DeltaNet (arXiv 2412.06464) as Qwen3-Next has it: every value head keeps a matrix of key by value dimension;
 * queries, keys and values pass a short convolution; a gate as wide as the values, and two numbers per value head.
 */
export function gatedDeltaNet({
  layers,
  keyHeads,
  valueHeads,
  keyDim,
  valueDim,
  kernel,
}: DeltaNet): Recurrent {
  const keys = keyHeads * keyDim;
  const values = valueHeads * valueDim;
  return {
    layers,
    heads: keyHeads,
    state: valueHeads * keyDim * valueDim,
    convolution: (2 * keys + values) * (kernel - 1),
    projected: 2 * keys + 2 * values + 2 * valueHeads,
    inner: values,
  };
}

/** As mamba_num_heads, mamba_head_dim, n_groups, ssm_state_size and conv_kernel of the config.json name them. */
interface StateSpace {
  readonly layers: number;
  readonly heads: number;
  readonly headDim: number;
  readonly groups: number;
  readonly stateSize: number;
  readonly kernel: number;
}

/**
 * Mamba-2 (arXiv 2405.21060): every head keeps a matrix of head dimension by state size; the inner width and the two
 * groups' projections pass a short convolution; a gate as wide as the inner width, and one number per head.
 */
export function mamba2({ layers, heads, headDim, groups, stateSize, kernel }: StateSpace): Recurrent {
  const inner = heads * headDim;
  const convolved = inner + 2 * groups * stateSize;
  return {
    layers,
    heads: groups,
    state: inner * stateSize,
    convolution: convolved * (kernel - 1),
    projected: inner + convolved + heads,
    inner,
  };
}
