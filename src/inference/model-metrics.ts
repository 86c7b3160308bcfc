import type { Metrics } from "../app/operations/metrics.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { ChatCompletion, ChatOptions } from "../domain/tools/chat.ts";

/** Measures one request to a model server. */
export function measureCompletion(
  metrics: Metrics | undefined,
  labels: { readonly upstream: string; readonly model: string },
) {
  const from = performance.now();
  const seconds = () => (performance.now() - from) / 1_000;
  let started = false;
  const ended = (outcome: string) => {
    metrics?.count("toolgate_model_requests_total", 1, { ...labels, outcome });
    metrics?.observe("toolgate_model_duration_seconds", seconds(), labels);
  };
  return {
    /** Returns options that also note the first chunk. */
    options: (options: ChatOptions): ChatOptions => ({
      ...options,
      onChunk: (chunks) => {
        if (!started) metrics?.observe("toolgate_model_first_token_seconds", seconds(), labels);
        started = true;
        options.onChunk?.(chunks);
      },
    }),
    completed({ usage }: ChatCompletion): void {
      ended("ok");
      if (!usage) return;
      const { promptTokens, completionTokens } = usage;
      metrics?.count("toolgate_model_tokens_total", promptTokens, { ...labels, kind: "input" });
      metrics?.count("toolgate_model_tokens_total", completionTokens, { ...labels, kind: "output" });
    },
    failed(error: unknown): void {
      ended(error instanceof ToolgateError && error.code === "UNAVAILABLE" ? "busy" : "failed");
    },
  };
}
