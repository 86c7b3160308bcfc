import type { Metrics } from "../app/operations/metrics.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { ChatCompletion, ChatOptions } from "../domain/tools/chat.ts";
import type { Embeddings } from "../domain/tools/embedding.ts";

/** Measures one request to a model server. */
export function measureRequest(
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
    completed(answer: ChatCompletion | Embeddings): void {
      ended("ok");
      const { promptTokens, completionTokens = 0 } = countsOf(answer);
      if (promptTokens === undefined) return;
      metrics?.count("toolgate_model_tokens_total", promptTokens, { ...labels, kind: "input" });
      metrics?.count("toolgate_model_tokens_total", completionTokens, { ...labels, kind: "output" });
    },
    failed(error: unknown): void {
      ended(error instanceof ToolgateError && error.code === "UNAVAILABLE" ? "busy" : "failed");
    },
  };
}

export type RequestMeasure = ReturnType<typeof measureRequest>;

function countsOf(answer: ChatCompletion | Embeddings): {
  promptTokens?: number | undefined;
  completionTokens?: number;
} {
  return "vectors" in answer ? { promptTokens: answer.promptTokens } : (answer.usage ?? {});
}
