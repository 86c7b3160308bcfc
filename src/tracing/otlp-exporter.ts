import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from "@opentelemetry/otlp-exporter-base/node-http";
import { requestJson } from "./otlp-json.ts";
import type { SpanBatch } from "./span-batch.ts";
import type { SpanExporter } from "./span-queue.ts";

/** The collector, and what describes this process. */
export interface ExporterOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly resource: Readonly<Record<string, string>>;
}

/** Opens OpenTelemetry's exporter, with its retries, for spans that are encoded already. */
export function openExporter({ url, headers, timeoutMs, resource }: ExporterOptions): SpanExporter {
  const [before, after] = requestJson(resource, resource["service.version"]);
  const http = { url, headers: { ...headers }, timeoutMillis: timeoutMs };
  const json = { "Content-Type": "application/json" };
  return createOtlpHttpExportDelegate<SpanBatch, object>(
    convertLegacyHttpOptions(http, "TRACES", "v1/traces", json),
    {
      serializeRequest: (batch) => batch.bytesBetween(before, after),
      deserializeResponse: () => ({}),
    },
    "otlp_http_span_exporter",
    { name: "span", countItems: ({ spans }) => spans },
    undefined,
  );
}
