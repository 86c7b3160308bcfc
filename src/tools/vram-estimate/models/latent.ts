import type { LatentAttention } from "../architecture.ts";

/** The latent attention of DeepSeek-V2 and V3, which Kimi K2 took over. */
export const LATENT: LatentAttention = {
  rank: 512,
  ropeDim: 64,
  queryRank: 1_536,
  nopeDim: 128,
  valueDim: 128,
};
