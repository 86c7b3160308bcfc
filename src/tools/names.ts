/** The tools that are there without any configuration (specification 1), in the order of the catalogue; an operator's own take other names. */
export const BUILT_IN_TOOLS = [
  "get_status",
  "echo",
  "inference_chat",
  "vram_estimate",
  "sandbox_execute",
  "sandbox_cancel",
  "gpu_provision",
] as const;
