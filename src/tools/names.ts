/** Built-in tools in catalogue order (specification 1). Custom tools need other names. */
export const BUILT_IN_TOOLS = [
  "get_status",
  "echo",
  "inference_chat",
  "vram_estimate",
  "sandbox_execute",
  "sandbox_cancel",
  "gpu_provision",
] as const;
