import { describe, expect, it } from "vitest";
import { readUsage } from "../../src/inference/usage.ts";

const counts = (value: unknown, before?: object) => {
  const { promptTokens, completionTokens, totalTokens, cachedTokens, reasoningTokens } =
    readUsage(value, before) ?? {};
  return [promptTokens, completionTokens, totalTokens, cachedTokens, reasoningTokens];
};
const SENT = { prompt_tokens: 20, completion_tokens: 424 };
const TOTAL = { ...SENT, total_tokens: 444 };
const reasoned = (reasoning_tokens: unknown) => ({ completion_tokens_details: { reasoning_tokens } });
const cached = (cached_tokens: unknown) => ({ prompt_tokens_details: { cached_tokens } });

describe("the usage of a model server", () => {
  it.each<[what: string, usage: unknown, ...read: unknown[]]>([
    ["adds up", TOTAL, 20, 424, 444],
    ["has no total", SENT, 20, 424, 444],
    ["has a null for its total", { ...SENT, total_tokens: null }, 20, 424, 444],
    ["has thoughts in the total only", { ...SENT, total_tokens: 1_016 }, 20, 996, 1_016, undefined, 572],
    [
      "has thoughts beside the answer",
      { ...SENT, total_tokens: 573, ...reasoned(129) },
      20,
      553,
      573,
      undefined,
      129,
    ],
    ["has thoughts in the answer", { ...TOTAL, ...reasoned(400) }, 20, 424, 444, undefined, 400],
    ["has a total below the sum", { ...SENT, total_tokens: 10 }, 20, 424, 444],
    ["has an absurd total", { ...SENT, total_tokens: 1e300 }, 20, 424, 444],
    ["counts in text", { prompt_tokens: "20", completion_tokens: "424", total_tokens: "444" }, 20, 424, 444],
    ["lacks the answer", { prompt_tokens: 20, total_tokens: 444 }, 20, 424, 444],
    ["lacks the prompt", { completion_tokens: 424, total_tokens: 444 }, 20, 424, 444],
    ["has a negative answer", { ...TOTAL, completion_tokens: -424 }, 20, 424, 444],
    ["has a fraction", { ...TOTAL, prompt_tokens: 19.5 }, 20, 424, 444],
    ["has an answer above the total", { completion_tokens: 424, total_tokens: 10 }, undefined, 424, 10],
    ["has a total alone", { total_tokens: 444 }, undefined, undefined, 444],
    ["has nulls", { prompt_tokens: 20, completion_tokens: null }, 20],
    ["has details that are no objects", { ...TOTAL, prompt_tokens_details: "x" }, 20, 424, 444],
    ["has more cached than sent", { ...TOTAL, ...cached(1e6) }, 20, 424, 444, 20],
    ["has more thoughts than answer", { ...TOTAL, ...reasoned(1e6) }, 20, 424, 444, undefined, 424],
    ["has negative details", { ...TOTAL, ...cached(-1), ...reasoned(-5) }, 20, 424, 444],
    ["has DeepSeek's cache", { ...TOTAL, prompt_cache_hit_tokens: 8 }, 20, 424, 444, 8],
    ["has the names of responses", { input_tokens: 20, output_tokens: 424 }, 20, 424, 444],
    [
      "has Anthropic's cache beside the input",
      { input_tokens: 5, cache_read_input_tokens: 10, cache_creation_input_tokens: 5, output_tokens: 424 },
      20,
      424,
      444,
      10,
    ],
    ["is text", "many"],
    ["is a list", [20, 424]],
    ["is empty", {}],
    ["is null", null],
    ["has no counts", { prompt_tokens: -1, completion_tokens: true, total_tokens: "1e3" }],
  ])("is read where it %s", (_, usage, ...read) => {
    expect(counts(usage)).toEqual([...read, ...Array.from({ length: 5 - read.length })]);
  });

  it("keeps what an earlier chunk counted", () => {
    const prompt = { promptTokens: 20, completionTokens: 1, totalTokens: 21 };
    expect(counts({ completion_tokens: 424 }, prompt)).toEqual([20, 424, 444, undefined, undefined]);
    expect(counts({ prompt_tokens: 20 }, prompt)).toEqual([20, 1, 21, undefined, undefined]);
    expect(counts(TOTAL, prompt)).toEqual([20, 424, 444, undefined, undefined]);
    const zeros = { prompt_tokens: 0, completion_tokens: "0", total_tokens: 0 };
    expect([readUsage(zeros, prompt), counts(zeros).slice(0, 3)]).toEqual([undefined, [0, 0, 0]]);
  });
});
