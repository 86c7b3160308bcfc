import { describe, expect, it } from "vitest";
import {
  type ChatCompletion,
  type ChatModel,
  type ChatModels,
  type ChatUsage,
  type ReportedUsage,
  parseTokenRate,
} from "../../../src/domain/tools/chat.ts";
import { readUsage } from "../../../src/inference/usage.ts";
import type { Charge } from "../../../src/tools/built-in.ts";
import { ceilingOf, chargeFor, usedTokens } from "../../../src/tools/inference-chat/price.ts";
import { chatTool } from "../../../src/tools/inference-chat/tool.ts";
import { toolContext } from "../tool-context.ts";

const rate = (usd: string): bigint => parseTokenRate(usd) ?? 0n;

const MODEL: ChatModel = {
  id: "m",
  inputRate: rate("2"),
  outputRate: rate("10"),
  contextLength: 200_000,
  maxOutputTokens: 8_000,
  bytesPerToken: 1,
};
const DISCOUNTED: ChatModel = { ...MODEL, cachedInputRate: rate("0.5"), reasoningRate: rate("30") };
const conversation = { messages: [{ role: "user" as const, content: "x".repeat(928) }], maxTokens: 100 };

function usage(promptTokens: number, completionTokens: number, more: Partial<ChatUsage> = {}): ChatUsage {
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens, ...more };
}

const charge = (model: ChatModel, counted: ReportedUsage | null, content = "Four.") =>
  chargeFor(model, usedTokens(model, conversation, { content, usage: counted }));

describe("charge of a completion", () => {
  it("is the counted tokens at the model's rates", () => {
    expect(charge(MODEL, usage(250, 40))).toBe(250n * 2n + 40n * 10n);
  });

  it("charges cached and reasoning tokens their own prices", () => {
    const counted = usage(250, 40, { cachedTokens: 200, reasoningTokens: 30 });
    expect(charge(DISCOUNTED, counted)).toBe(50n * 2n + 100n + 10n * 10n + 30n * 30n);
    expect(charge(MODEL, counted), "without such prices").toBe(250n * 2n + 40n * 10n);
  });

  const PRICES = [
    ["0.3", "0.3", "0.3"],
    ["0.03", "0.375", "0.375"],
    ["0.3", "0.375", "0.6"],
    ["0.03", "0.3", "0.600000001"],
  ] as const;
  const PROMPTS = [
    [0, 0, 0],
    [0, 1_000, 1_000],
    [1_000, 0, 0],
    [7, 501, 99],
    [1, 998, 0],
  ] as const;
  it.each(PRICES.flatMap((prices) => PROMPTS.map((prompt) => [prices, prompt] as const)))(
    "charges cache writes their own prices, exactly, and never above the quote: %j, %j",
    ([read, write, hour], [cached, written, kept]) => {
      const model: ChatModel = {
        ...MODEL,
        inputRate: rate("0.3"),
        cachedInputRate: rate(read),
        cacheWriteRate: rate(write),
        cacheWriteHourRate: rate(hour),
      };
      // As many tokens as the quote covers: 64, 8 for the message, and its bytes.
      const fresh = 64 + 8 + 928 - cached - written;
      const counted = readUsage({
        input_tokens: fresh,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
        cache_creation: { ephemeral_1h_input_tokens: kept },
        output_tokens: 100,
      });
      const exact =
        BigInt(fresh) * model.inputRate +
        BigInt(cached) * rate(read) +
        BigInt(written - kept) * rate(write) +
        BigInt(kept) * rate(hour) +
        100n * model.outputRate;
      const charged = charge(model, counted ?? null);
      expect(charged).toBe((exact + 999_999_999n) / 1_000_000_000n);
      expect(charged).toBeLessThanOrEqual(ceilingOf(model, conversation));
    },
  );

  it("takes no more cache writes than the prompt has, and none that a cut answer does not report", () => {
    const model = { ...MODEL, cachedInputRate: rate("1"), cacheWriteRate: rate("4") };
    const lied = readUsage({ prompt_tokens: 10, completion_tokens: 1, cache_creation_input_tokens: 1_000 });
    expect(charge(model, lied ?? null)).toBe(10n * 4n + 10n);
    const both = readUsage({
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 8 },
    });
    expect(charge(model, both ?? null)).toBe(8n * 1n + 2n * 4n + 10n);
    const delivered = { characters: 5, chunks: 1, isCut: true };
    const cut = usedTokens(model, conversation, { content: "", usage: usage(10, 1), delivered });
    expect(chargeFor(model, cut)).toBe(10n + 10n);
    const known = { ...usage(10, 1), cacheWriteTokens: 4 };
    const written = usedTokens(model, conversation, { content: "", usage: known, delivered });
    expect(chargeFor(model, written)).toBe(6n + 4n * 4n + 10n);
  });

  it("is at least one micro-USD", () => {
    expect(charge({ ...MODEL, inputRate: 1n, outputRate: 1n }, usage(1, 0))).toBe(1n);
  });

  it.each([null, usage(0, 0)])("estimates a token for five characters without a count: %j", (counted) => {
    expect(charge(MODEL, counted, "Four and four")).toBe((4n + 186n) * 2n + 3n * 10n);
    expect(charge(MODEL, counted, "x".repeat(5_000)), "at most max_tokens").toBe(190n * 2n + 1_000n);
  });

  it("estimates by chunks where they are fewer, and never adds to a count", () => {
    const used = (chunks: number, counted: ReportedUsage | null) => {
      const delivered = { characters: 100, chunks };
      const answer = usedTokens(MODEL, conversation, { content: "", usage: counted, delivered });
      return [answer.promptTokens, answer.completionTokens, answer.isEstimated ?? false];
    };
    expect(used(7, null)).toEqual([190, 7, true]);
    expect(used(700, null)).toEqual([190, 20, true]);
    expect(used(7, usage(11, 3))).toEqual([11, 3, false]);
    expect(used(7, { promptTokens: 11 })).toEqual([11, 7, true]);
    expect(used(7, { completionTokens: 3 })).toEqual([190, 3, true]);
    expect(used(7, { totalTokens: 12 }), "a total alone").toEqual([5, 7, true]);
    expect(used(7, { totalTokens: 4 })).toEqual([0, 4, true]);
    expect(used(7, { ...usage(11, 3), isBehind: true }), "text came after the count").toEqual([11, 7, true]);
    expect(used(7, { ...usage(11, 9), isBehind: true })).toEqual([11, 9, false]);
  });
});

describe("a caller who leaves half way", () => {
  const fox = "The quick brown fox jumps over the lazy dog. ".repeat(100);
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(5_000)}` } };
  const turn = (content: unknown) => ({ role: "user", content });
  const parts = (...list: unknown[]) => turn([{ type: "text", text: "2+2?" }, ...list]);
  const tool = {
    type: "function",
    function: {
      name: "get_weather",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  };
  /** Messages and tools, characters of a piece, what the server counts of the whole, the charge. */
  const cases: [string, object[], number, ChatUsage, bigint?][] = [
    ["short pieces", [turn("2+2?")], 2, usage(11, 100), 201n],
    ["long pieces", [turn("2+2?")], 30, usage(11, 100), 501n],
    ["a long prompt", [turn(fox)], 5, usage(1_011, 100)],
    ["long words", [turn("internal documentation ".repeat(400))], 5, usage(1_211, 100)],
    ["indented code", [turn(`${" ".repeat(40)}"type": "string",\n`.repeat(100))], 5, usage(911, 51)],
    ["an image of fewer tokens than the most", [parts(image)], 5, usage(96, 51)],
    ["parts of text", Array.from({ length: 50 }, () => parts()), 5, usage(411, 51)],
    ["short turns", Array.from({ length: 100 }, () => turn("ok")), 5, usage(305, 51)],
    [
      "tools, which templates shorten",
      [turn("2+2?"), ...Array.from({ length: 20 }, () => tool)],
      5,
      usage(431, 51),
    ],
    ["cached tokens", [turn(fox)], 5, usage(1_011, 51, { cachedTokens: 1_000 }), 782n],
    ["hidden reasoning", [turn("2+2?")], 5, usage(11, 800, { reasoningTokens: 700 })],
    ["cheap reasoning", [turn("2+2?")], 5, usage(11, 51, { reasoningTokens: 50 })],
  ];

  it.each(cases)("pays no more than for the whole: %s", (what, sent, length, whole, due) => {
    const reasoningRate = what === "cheap reasoning" ? rate("1") : undefined;
    const model: ChatModel = { ...DISCOUNTED, reasoningRate, imageTokens: 1_024 };
    const prompt = [{ content: JSON.stringify(sent) }];
    const half = { messages: prompt, sent, imageTokens: 1_024, maxTokens: 500 };
    const delivered = { characters: 50 * length, chunks: 50, isCut: true };
    const left = (counted: ReportedUsage | null) =>
      chargeFor(model, usedTokens(model, half, { content: "", usage: counted, delivered }));
    const all = chargeFor(model, usedTokens(model, half, { content: "", usage: whole }));
    if (due !== undefined) expect(left(null)).toBe(due);
    expect(left(null)).toBeLessThanOrEqual(all);
    // Counted with each chunk, without the details of the last count.
    const behind = usage(whole.promptTokens, Math.min(50, whole.completionTokens));
    expect(left(behind)).toBeLessThanOrEqual(all);
  });

  it("pays for images and tokens in full where the server ended and counted nothing", () => {
    const sent = [parts(image)];
    const whole = { messages: [{ content: "2+2?" }], sent, imageTokens: 1_024, maxTokens: 500 };
    const delivered = { characters: 50, chunks: 50, isCut: false };
    const used = usedTokens(DISCOUNTED, whole, { content: "", usage: null, delivered });
    expect(chargeFor(DISCOUNTED, used)).toBe((4n + 1n + 1_024n) * 2n + 10n * 10n);
  });
});

/** docs/guides/pricing.md */
describe("worked examples of the pricing guide", () => {
  const model = { ...MODEL, inputRate: rate("0.2"), outputRate: rate("0.6") };
  const detailed = { ...model, cachedInputRate: rate("0.05"), reasoningRate: rate("3") };
  const call = { messages: [{ role: "user" as const, content: "2+2?" }], maxTokens: 100 };
  const used = (of: ChatModel, counted: ChatUsage | null) =>
    chargeFor(of, usedTokens(of, call, { content: "Four.", usage: counted }));

  it("quote and charge what it says", () => {
    expect([ceilingOf(model, call), used(model, usage(11, 2)), used(model, null)]).toEqual([76n, 4n, 2n]);
    const counted = usage(11, 2, { cachedTokens: 8, reasoningTokens: 1 });
    expect([ceilingOf(detailed, call), used(detailed, counted)]).toEqual([316n, 5n]);
  });
});

describe("ceiling of a completion", () => {
  it("covers an answer that is all reasoning", () => {
    expect(ceilingOf(DISCOUNTED, conversation)).toBe(1_000n * 2n + 100n * 30n);
    expect(charge(DISCOUNTED, usage(1_000, 100, { reasoningTokens: 100 }))).toBe(
      ceilingOf(DISCOUNTED, conversation),
    );
  });
});

describe("inference_chat", () => {
  const completion: ChatCompletion = { content: "Four.", finishReason: "stop", usage: usage(250, 40) };
  const models: ChatModels = { models: [MODEL], complete: async () => completion };
  const metered = async (setting?: Charge) => {
    const reports: bigint[] = [];
    const tool = chatTool(models, setting);
    const prepared = tool.prepare({ model: "m", messages: conversation.messages, max_tokens: 100 });
    await prepared.run({ ...toolContext(), meter: (used) => void reports.push(used) });
    return { metered: tool.metered, price: prepared.price, reports };
  };

  it("quotes the ceiling and reports the counted tokens", async () => {
    expect(await metered()).toEqual({ metered: true, price: 3_000n, reports: [900n] });
  });

  it("reports nothing if it charges as quoted", async () => {
    expect(await metered("quoted")).toEqual({ metered: false, price: 3_000n, reports: [] });
  });
});
