import { createHash } from "node:crypto";
import { ROOT_CONTEXT, SpanKind } from "@opentelemetry/api";
import { ParentBasedSampler, SamplingDecision, TraceIdRatioBasedSampler } from "@opentelemetry/sdk-trace";
import { describe, expect, it } from "vitest";
import { samplerOf } from "../../src/tracing/sampler.ts";

const IDS = [
  ...Array.from({ length: 5_000 }, (_, at) => createHash("md5").update(String(at)).digest("hex")),
  `${"0".repeat(31)}1`,
  "f".repeat(32),
  `${"f".repeat(8)}${"0".repeat(24)}`,
];
const RATIOS = [0, 1e-9, 0.001, 0.0625, 0.1, 0.5, 0.999_999, 1];

describe("a trace is sampled", () => {
  it.each(RATIOS)("at the ratio %d exactly when OpenTelemetry's SDK samples it", (ratio) => {
    const official = new TraceIdRatioBasedSampler(ratio);
    const sampler = samplerOf("traceidratio", ratio);
    const sampledBy = (decide: (id: string) => boolean) => IDS.filter(decide);
    const expected = sampledBy(
      (id) => official.shouldSample(ROOT_CONTEXT, id).decision === SamplingDecision.RECORD_AND_SAMPLED,
    );
    expect(sampledBy((id) => sampler(id, undefined))).toEqual(expected);
    // A caller's decision does not count.
    expect(sampledBy((id) => sampler(id, true))).toEqual(expected);
  });

  it.each([0, 0.1, 1])("as its caller decided, and at the ratio %d without one", (ratio) => {
    const official = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
    const sampler = samplerOf("parentbased_traceidratio", ratio);
    for (const id of IDS) {
      const alone = official.shouldSample(ROOT_CONTEXT, id, "request", SpanKind.SERVER, {}, []).decision;
      expect(sampler(id, undefined)).toBe(alone === SamplingDecision.RECORD_AND_SAMPLED);
      expect([sampler(id, true), sampler(id, false)]).toEqual([true, false]);
    }
  });

  it("always or never without a ratio, unless its caller decides", () => {
    const [id = ""] = IDS;
    const decisions = (name: Parameters<typeof samplerOf>[0]) =>
      [undefined, true, false].map((parent) => samplerOf(name, 0.5)(id, parent));
    expect(decisions("always_on")).toEqual([true, true, true]);
    expect(decisions("always_off")).toEqual([false, false, false]);
    expect(decisions("parentbased_always_on")).toEqual([true, true, false]);
    expect(decisions("parentbased_always_off")).toEqual([false, true, false]);
  });
});
