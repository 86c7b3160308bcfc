import { describe, expect, it } from "vitest";
import { parentOf, stateOf } from "../../src/tracing/trace-context.ts";

const [TRACE, SPAN] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];

describe("traceparent", () => {
  it.each([
    ["01", true],
    ["00", false],
    ["03", true],
    ["02", false],
    ["ff", true],
  ])("with the flags %s is sampled: %s", (flags, sampled) => {
    const parent = { traceId: TRACE, spanId: SPAN, sampled, state: "" };
    expect(parentOf({ traceparent: `00-${TRACE}-${SPAN}-${flags}` })).toEqual(parent);
  });

  it("of a later version may be longer", () => {
    expect(parentOf({ traceparent: `01-${TRACE}-${SPAN}-01-more` })?.traceId).toBe(TRACE);
  });

  it.each([
    ["empty", ""],
    ["of the version ff", `ff-${TRACE}-${SPAN}-01`],
    ["in capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["with a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["short", `00-${TRACE}-${SPAN}`],
    ["twice", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])("that is %s is ignored", (_, traceparent) => {
    expect(parentOf({ traceparent })).toBeUndefined();
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
    ["a=1,".repeat(40), Array.from({ length: 32 }, () => "a=1").join(",")],
    [`a=1,b=${"x".repeat(510)}`, ""],
  ])("%j is passed on as %j", (sent, passed) => {
    expect(stateOf(sent)).toBe(passed);
  });
});
