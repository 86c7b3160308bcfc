import type { Metrics } from "../app/operations/metrics.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import type { Span } from "../domain/core/span.ts";
import type { ChatCompletion, ChatOptions, Embeddings } from "../domain/tools/chat.ts";

/** Measures one request to a model server. */
export function measureRequest(
  metrics: Metrics | undefined,
  labels: { readonly upstream: string; readonly model: string },
) {
  const from = performance.now();
  const seconds = () => (performance.now() - from) / 1_000;
  let started = false;
  let span: Span | undefined;
  const ended = (outcome: string) => {
    metrics?.count("toolgate_model_requests_total", 1, { ...labels, outcome });
    metrics?.observe("toolgate_model_duration_seconds", seconds(), labels);
  };
  return {
    /** Starts the step of the request, which ends with it. */
    step(parent: Span | undefined, operation: "chat" | "embeddings"): Span | undefined {
      span = parent?.child(`${operation} ${labels.model}`, attributesOf(operation, labels), "client");
      return span;
    },
    /** Returns options that also note the first chunk, and the step of the request. */
    options(options: ChatOptions): ChatOptions {
      return {
        ...options,
        span: this.step(options.span, "chat"),
        onChunk: (chunks) => {
          if (!started) metrics?.observe("toolgate_model_first_token_seconds", seconds(), labels);
          started = true;
          options.onChunk?.(chunks);
        },
      };
    },
    completed(answer: ChatCompletion | Embeddings): void {
      const counts = countsOf(answer);
      span?.set({
        "gen_ai.response.finish_reasons": finishReasonsOf(answer),
        "gen_ai.usage.input_tokens": counts.promptTokens,
        "gen_ai.usage.output_tokens": counts.completionTokens,
      });
      span?.end();
      ended("ok");
      const { promptTokens, completionTokens = 0 } = counts;
      if (promptTokens === undefined) return;
      metrics?.count("toolgate_model_tokens_total", promptTokens, { ...labels, kind: "input" });
      metrics?.count("toolgate_model_tokens_total", completionTokens, { ...labels, kind: "output" });
    },
    failed(error: unknown): void {
      span?.end(error);
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

function finishReasonsOf(answer: ChatCompletion | Embeddings): string[] | undefined {
  if ("vectors" in answer || answer.finishReason === null) return undefined;
  return [answer.finishReason];
}

/** Attributes of a request's step (semantic conventions, GenAI, "Inference" and "Embeddings"). */
function attributesOf(
  operation: string,
  { upstream, model }: { readonly upstream: string; readonly model: string },
) {
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.request.model": model,
    "toolgate.upstream": upstream,
  };
}
