import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { describe, expect, it } from "vitest";
import { requestJson, spanJson, type EndedSpan } from "../../src/tracing/otlp-json.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const RESOURCE = { "service.name": "toolgate", "deployment.environment.name": 'test "lab"\n' };

const PLAIN: EndedSpan = {
  ...{ traceId: TRACE, spanId: "b7ad6b7169203331", parent: undefined, state: "" },
  ...{ name: "POST /v1/mcp/tools/call", kind: "server", startedAt: 12.5, endedAt: 14.25 },
  ...{ attributes: {}, links: [], failed: false },
};

const SPANS: Readonly<Record<string, EndedSpan>> = {
  "without attributes": PLAIN,
  "of a remote parent with a tracestate": {
    ...PLAIN,
    ...{ parent: { spanId: "c7ad6b7169203331", isRemote: true }, state: 'a=1,b=x"y\\z' },
  },
  "of a step of ours that failed": {
    ...PLAIN,
    ...{ parent: { spanId: "c7ad6b7169203331", isRemote: false }, kind: "client", failed: true },
  },
  "with attributes of every type": {
    ...PLAIN,
    kind: "internal",
    attributes: {
      ...{ text: 'é \u0000 \u2028 \ud83d\ude00 " \\', long: "x".repeat(300), empty: "", missing: undefined },
      ...{ whole: 200, negative: -1, fraction: 0.25, yes: true, no: false, list: ["a", '"'] },
      'na"me': "v",
    },
  },
  "with links": {
    ...PLAIN,
    links: [
      { traceId: TRACE, spanId: "d7ad6b7169203331", state: "" },
      { traceId: TRACE, spanId: "e7ad6b7169203331", state: "a=1" },
    ],
  },
};

describe("the JSON of a span", () => {
  it.each(Object.entries(SPANS))("%s is what OpenTelemetry's serialiser makes", (_, span) => {
    const [before, after] = requestJson(RESOURCE, "1.0.0");
    const ours: unknown = JSON.parse(`${before}${spanJson(span)}${after}`);
    expect(ours).toEqual(withoutDefaults(official(span)));
  });

  it("is well-formed when the limit cuts a character in two", () => {
    const json = spanJson({ ...PLAIN, attributes: { text: "\ud83d\ude00".repeat(200).slice(1) } });
    expect(JSON.parse(json).attributes[0].value.stringValue).toSatisfy((text: string) => text.isWellFormed());
  });

  it("has times that increase by the nanosecond's digits", () => {
    const timesOf = (startedAt: number) =>
      /"startTimeUnixNano":"(\d+)"/.exec(spanJson({ ...PLAIN, startedAt }))?.[1] ?? "";
    const origin = BigInt(Math.floor(performance.timeOrigin * 1e3)) * 1_000n;
    for (const at of [0, 0.001, 999.5, 1_000, 86_400_000]) {
      const difference = BigInt(timesOf(at)) - origin - BigInt(Math.round(at * 1e6));
      expect(difference).toBeGreaterThan(-2_000n);
      expect(difference).toBeLessThan(2_000n);
    }
  });
});

const KINDS = { internal: 0, server: 1, client: 2 };

/** The request as OpenTelemetry's exporter sends it. */
function official(span: EndedSpan): unknown {
  const contextOf = (traceId: string, spanId: string, isRemote: boolean, state: string) => ({
    ...{ traceId, spanId, isRemote, traceFlags: 1 },
    traceState: { serialize: () => state, get: () => undefined, set: never, unset: never },
  });
  const { attributes, links, parent, startedAt, endedAt, failed } = span;
  const own = contextOf(span.traceId, span.spanId, false, span.state);
  const bytes = JsonTraceSerializer.serializeRequest([
    {
      name: span.name,
      kind: KINDS[span.kind],
      spanContext: () => own,
      ...(parent && { parentSpanContext: contextOf(span.traceId, parent.spanId, parent.isRemote, "") }),
      startTime: hrTime(startedAt),
      endTime: hrTime(endedAt),
      duration: [0, 0],
      ended: true,
      status: { code: failed ? 2 : 0 },
      attributes: Object.fromEntries(
        Object.entries(attributes).flatMap(([name, value]) => {
          if (value === undefined) return [];
          return [[name, typeof value === "string" ? value.slice(0, 256) : value]];
        }),
      ),
      links: links.map(({ traceId, spanId, state }) => ({
        context: contextOf(traceId, spanId, false, state),
      })),
      events: [],
      resource: resourceFromAttributes(RESOURCE),
      instrumentationScope: { name: "toolgate", version: "1.0.0" },
      ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    },
  ]);
  return JSON.parse(Buffer.from(bytes ?? []).toString());
}

function never(): never {
  throw new Error("not used");
}

/** Seconds and nanoseconds, by the same arithmetic as ours: a double holds a quarter of a microsecond. */
function hrTime(at: number): [number, number] {
  const ms = performance.timeOrigin + at;
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1e6)];
}

/** Members that Protobuf's JSON may leave out when they have their default. */
const OPTIONAL = /^(dropped\w+Count|events|links|traceState|status|code)$/;

/** Leaves out defaults, and what links have no attributes for. */
function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(item));
  if (typeof value !== "object" || value === null) return value;
  const isLink = "context" in value || !("name" in value || "resource" in value);
  const kept = Object.entries(value)
    .map(([name, inner]) => [name, withoutDefaults(inner)] as const)
    .filter(
      ([name, inner]) => !(isDefault(inner) && (OPTIONAL.test(name) || (isLink && name === "attributes"))),
    );
  return Object.fromEntries(kept);
}

function isDefault(value: unknown): boolean {
  return value === 0 || value === "" || JSON.stringify(value) === "[]" || JSON.stringify(value) === "{}";
}
