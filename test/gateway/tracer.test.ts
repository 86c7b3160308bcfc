import { describe, expect, it } from "vitest";
import { SAMPLERS, type TraceContext } from "../../src/domain/core/span.ts";
import { openTracing, type TracingOptions } from "../../src/tracing/index.ts";
import { json, modelServer } from "../inference/model-server.ts";
import { spansIn } from "./received-spans.ts";

const [TRACE, SPAN] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];

const OPTIONS: TracingOptions = {
  ...{ url: "http://127.0.0.1:1/v1/traces", protocol: "http/json", headers: {}, timeoutMs: 1_000 },
  batches: {
    ...{ scheduledDelayMillis: 1, exportTimeoutMillis: 30_000 },
    ...{ maxQueueSize: 2_048, maxExportBatchSize: 64 },
  },
  ...{ sampler: "parentbased_always_off", ratio: 1, resource: { "service.name": "test" } },
  metrics: { count() {} },
};

/** Starts a request that continues the caller's trace. */
async function started(sent: TraceContext, options: Partial<TracingOptions> = {}) {
  const { tracer } = await openTracing({ ...OPTIONS, ...options });
  return tracer.start(performance.now(), sent);
}

describe("traceparent", () => {
  it.each([
    ["01", true],
    ["00", false],
    ["03", true],
    ["02", false],
    ["ff", true],
  ])("with the flags %s is sampled: %s", async (flags, sampled) => {
    const span = await started({ traceparent: `00-${TRACE}-${SPAN}-${flags}` });
    expect(span.sampled).toBe(sampled);
    expect(span.headers).toEqual({
      traceparent: expect.stringMatching(new RegExp(`^00-${TRACE}-(?!${SPAN})\\w{16}-0${Number(sampled)}$`)),
    });
  });

  it("of a later version may be longer", async () => {
    expect((await started({ traceparent: `01-${TRACE}-${SPAN}-01-more` })).traceId).toBe(TRACE);
  });

  it.each([
    ["empty", ""],
    ["of the version ff", `ff-${TRACE}-${SPAN}-01`],
    ["in capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["with a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["short", `00-${TRACE}-${SPAN}`],
    ["twice", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])("that is %s is ignored", async (_, traceparent) => {
    const span = await started({ traceparent });
    expect(span.traceId).toMatch(/^(?!0af7651916cd43dd)[\da-f]{32}$/);
    expect(span.sampled).toBe(false);
  });
});

describe("tracestate", () => {
  it.each([
    ["a=1,b@c/d=2", "a=1,b@c/d=2"],
    [" a=1 ,\tb=x y ,", "a=1,b=x y"],
    ["a=1,B=2,=3,c,d=é,e=5", "a=1,e=5"],
    ["a=1\r\nx-evil: 1,b=2", "b=2"],
    [`a=${"x".repeat(256)}`, `a=${"x".repeat(256)}`],
    [`a=${"x".repeat(257)}`, ""],
  ])("%j is passed on as %j, sampled or not", async (tracestate, passed) => {
    for (const flags of ["00", "01"]) {
      const span = await started({ traceparent: `00-${TRACE}-${SPAN}-${flags}`, tracestate });
      expect(span.child("step").headers["tracestate"] ?? "").toBe(passed);
    }
  });

  it("is passed on with at most 32 members and 512 characters", async () => {
    const tracestate = Array.from({ length: 40 }, (_, at) => `k${at}=${"x".repeat(20)}`).join(",");
    const { headers } = await started({ traceparent: `00-${TRACE}-${SPAN}-00`, tracestate });
    expect(headers["tracestate"]?.length).toBeLessThanOrEqual(512);
    const short = Array.from({ length: 40 }, (_, at) => `k${at}=x`).join(",");
    const { headers: other } = await started({ traceparent: `00-${TRACE}-${SPAN}-00`, tracestate: short });
    expect(other["tracestate"]?.split(",")).toEqual(short.split(",").slice(0, 32));
  });
});

describe("a request", () => {
  it("is sampled as its caller decided with a parentbased_ sampler, and as the sampler decides else", async () => {
    const decisions = await Promise.all(
      SAMPLERS.map(async (sampler) => {
        const by = async (sent: TraceContext) => (await started(sent, { sampler, ratio: 0 })).sampled;
        const ofCallers = ["01", "00"].map((flags) => by({ traceparent: `00-${TRACE}-${SPAN}-${flags}` }));
        return [sampler, ...(await Promise.all([by({}), ...ofCallers]))];
      }),
    );
    expect(decisions).toEqual([
      ["always_on", true, true, true],
      ["always_off", false, false, false],
      ["traceidratio", false, false, false],
      ["parentbased_always_on", true, true, false],
      ["parentbased_always_off", false, true, false],
      ["parentbased_traceidratio", false, true, false],
    ]);
  });

  it("is exported with its steps, their failures and bounded attributes", async () => {
    await using collector = await modelServer((response) => json(response, 200, {}));
    const url = `${collector.baseUrl}/traces`;
    const { tracer, close } = await openTracing({ ...OPTIONS, url, sampler: "always_on" });
    const request = tracer.start(performance.now() - 5, {});
    const step = request.child("step", { long: "x".repeat(300), none: undefined, list: ["a"] }, "client");
    step.end(new TypeError("planted message"));
    step.end();
    step.set({ late: true });
    expect(step.child("after the end")).toBe(step);
    request.set({ whole: 200, yes: true }, "GET /health");
    request.link(step);
    request.end();
    await close();
    const { traceId } = request;
    const spans = spansIn(collector.received);
    const [first, second] = spans;
    expect(spans).toEqual([
      {
        ...{ name: "step", kind: "client", traceId, spanId: first?.spanId, parentSpanId: second?.spanId },
        links: [],
        attributes: {
          ...{ long: "x".repeat(256), list: { values: [{ stringValue: "a" }] } },
          "error.type": "TypeError",
        },
      },
      {
        ...{ name: "GET /health", kind: "server", traceId, spanId: second?.spanId, parentSpanId: "" },
        ...{ links: [first?.spanId], attributes: { whole: 200, yes: true } },
      },
    ]);
    const sent = collector.received.map(({ body }) => body).join("");
    expect(sent).not.toContain("planted");
    expect(sent).toContain('"service.name"');
  });

  it("is exported in protobuf when http/protobuf is set", async () => {
    await using collector = await modelServer((response) => void response.writeHead(200).end());
    const url = `${collector.baseUrl}/traces`;
    const protocol = "http/protobuf";
    const { tracer, close } = await openTracing({ ...OPTIONS, url, protocol, sampler: "always_on" });
    tracer.start(performance.now(), {}).end();
    await close();
    expect(collector.received.map(({ headers }) => headers["content-type"])).toEqual([
      "application/x-protobuf",
    ]);
    expect(collector.received[0]?.body).toContain("request");
  });
});
