/** Scopes of a key with descriptions for customers. */
export const SCOPES = [
  { scope: "inference:write", title: "Use models", text: "inference_chat and tools that run models" },
  { scope: "compute:read", title: "Estimate and look up", text: "vram_estimate and its runs" },
  { scope: "compute:run", title: "Run code", text: "sandbox_execute and sandbox_cancel" },
  { scope: "billing:read", title: "Read receipts", text: "receipts and their payments" },
  { scope: "billing:write", title: "Change billing", text: "not used yet" },
] as const;

/** Scopes that are preselected for a new key. */
export const DEFAULT_SCOPES: readonly string[] = SCOPES.map(({ scope }) => scope).filter(
  (scope) => scope !== "billing:write",
);
