import { parseTokenRate } from "../../src/domain/token-rate.ts";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";

/** Terms that a model is sold on. */
export const TERMS = {
  inputRate: parseTokenRate("0.2") ?? 0n,
  outputRate: parseTokenRate("0.6") ?? 0n,
  contextLength: 1_000,
  maxOutputTokens: 100,
  bytesPerToken: 1,
};

/** An upstream that sells one model, m1. */
export function settingsFor(baseUrl: string, overrides: Partial<UpstreamSettings> = {}): UpstreamSettings {
  return {
    name: "main",
    baseUrl,
    apiKey: "secret-key",
    timeoutMs: 5_000,
    network: "any",
    models: [{ id: "m1", ...TERMS }],
    defaults: TERMS,
    ...overrides,
  };
}
