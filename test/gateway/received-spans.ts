import { z } from "zod";
import type { Received } from "../inference/model-server.ts";

/** What a collector received, as the tests compare it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "other";
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** Spans that it links to. */
  readonly links: readonly string[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

const KINDS = ["other", "internal", "server", "client"] as const;

/** OTLP/JSON (opentelemetry-proto, ExportTraceServiceRequest). */
const exported = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              kind: z.number(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().default(""),
              links: z.array(z.object({ spanId: z.string() })).default([]),
              attributes: z
                .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
                .default([]),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** Reads the spans of requests to a collector. */
export function spansIn(received: readonly Received[]): ReceivedSpan[] {
  return received
    .filter(({ url }) => url === "/v1/traces")
    .flatMap(({ body }) => exported.parse(JSON.parse(body)).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ kind, links, attributes, ...span }) => ({
      ...span,
      kind: KINDS[kind] ?? "other",
      links: links.map(({ spanId }) => spanId),
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    }));
}
