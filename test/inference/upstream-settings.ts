import { createLogger } from "../../src/log.ts";
import { systemClock } from "../../src/system.ts";
import { parseTokenRate } from "../../src/domain/tools/chat.ts";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";

export const TERMS = {
  inputRate: parseTokenRate("0.2") ?? 0n,
  outputRate: parseTokenRate("0.6") ?? 0n,
  contextLength: 1_000,
  maxOutputTokens: 100,
  bytesPerToken: 1,
};

/** An upstream with one model, m1. */
export function settingsFor(baseUrl: string, overrides: Partial<UpstreamSettings> = {}): UpstreamSettings {
  return {
    name: "main",
    kind: "openai",
    api: "chat",
    baseUrl,
    apiKey: "secret-key",
    headers: {},
    timeoutMs: 300_000,
    firstPieceTimeoutMs: 300_000,
    stallTimeoutMs: 300_000,
    stream: true,
    limitParameter: "max_tokens",
    weight: 0,
    markupPercent: undefined,
    network: "any",
    models: [{ id: "m1", upstreamModel: "m1", ...TERMS }],
    embeddingModels: [],
    defaults: TERMS,
    refreshMs: 600_000,
    ...overrides,
  };
}

export const SHOP = { clock: systemClock, log: createLogger("silent", { secrets: [] }) };
