import type { Mutant } from "./mutant.ts";

const ENCODED = ["test/gateway/otlp-json.test.ts"];

/** Traces of callers, and what waits for a collector. */
export const TRACES: readonly Mutant[] = [
  {
    name: "trace-ratio",
    guard: "A trace is sampled here exactly if other services sample it at the same ratio.",
    file: "src/tracing/sampler.ts",
    find: "if (digit !== ofLimit) return digit < ofLimit;",
    replace: "if (digit !== ofLimit) return digit <= ofLimit + 1;",
    tests: ["test/gateway/sampler.test.ts"],
  },
  {
    name: "trace-state-members",
    guard: "Only well-formed members of a caller's tracestate are passed on.",
    file: "src/tracing/trace-context.ts",
    find: ".filter((member) => MEMBER.test(member))",
    replace: "",
    tests: ["test/gateway/trace-context.test.ts"],
  },
  {
    name: "trace-waiting-spans",
    guard: "A collector that does not answer leaves a bounded number of spans.",
    file: "src/tracing/span-queue.ts",
    find: "if (this.#waiting.length >= MAX_WAITING) return undefined;",
    replace: "",
    tests: ["test/gateway/span-queue.test.ts", ...ENCODED],
  },
  {
    name: "trace-attribute-length",
    guard: "Attributes of spans are bounded in length.",
    file: "src/tracing/otlp-json.ts",
    find: "value.slice(0, MAX_TEXT)",
    replace: "value",
    tests: ENCODED,
  },
  {
    name: "trace-attribute-text",
    guard: "Text of attributes is escaped in the JSON of a span, unchanged.",
    file: "src/tracing/otlp-json.ts",
    find: "JSON.stringify(text.toWellFormed())",
    replace: "JSON.stringify(text.slice(1).toWellFormed())",
    tests: ENCODED,
  },
];
