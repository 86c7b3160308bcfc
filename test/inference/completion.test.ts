import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/domain/core/json.ts";
import { Completion } from "../../src/inference/completion.ts";

/** Reads deltas. @returns the stored message and the deltas as they were handed on */
function read(...deltas: readonly unknown[]) {
  const completion = new Completion("deltas");
  for (const delta of deltas) completion.take({ choices: [{ index: 0, delta }] });
  completion.take({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  const message: JsonObject = completion.result().whole?.message ?? {};
  return { message, deltas: completion.takeDeltas().map(({ delta }) => delta) };
}

const part = (
  id: string | null | undefined,
  name: string | null,
  input: unknown,
  index: number | null = 0,
) => ({
  tool_calls: [{ index, id, type: "function", function: { name, arguments: input } }],
});
interface StreamedCall {
  readonly index: number;
  readonly id: unknown;
  readonly function: { readonly name: unknown; readonly arguments: string };
}

const callsIn = (message: JsonObject | undefined): StreamedCall[] =>
  JSON.parse(JSON.stringify(message?.["tool_calls"] ?? []));

const called = ({ message, deltas }: ReturnType<typeof read>) => {
  const calls = callsIn(message).map((one) => [one.id, one.function.name, one.function.arguments]);
  const streamed: string[] = [];
  for (const one of deltas.flatMap(callsIn))
    streamed[one.index] = (streamed[one.index] ?? "") + one.function.arguments;
  expect(streamed, "the deltas say the same").toEqual(calls.map(([, , input]) => input));
  return calls;
};

describe("tool calls", () => {
  it("assembles the input of custom tools, repeated pieces too, and counts its characters", () => {
    const completion = new Completion();
    const take = (call: object) =>
      completion.take({ choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] });
    take({ id: "a", type: "custom", custom: { name: "patch", input: "+" } });
    take({ custom: { input: "+" } });
    take({ custom: { input: " x" } });
    const { whole, delivered } = completion.result("stop");
    expect(whole?.message["tool_calls"]).toEqual([
      { id: "a", type: "custom", custom: { name: "patch", input: "++ x" } },
    ]);
    expect(delivered?.characters).toBe("patch++ x".length);
  });

  const F = '{"a":1}';
  it.each<[what: string, parts: unknown[], calls: unknown[]]>([
    [
      "two ids at one index",
      [part("a", "f", F), part("b", "g", F)],
      [
        ["a", "f", F],
        ["b", "g", F],
      ],
    ],
    [
      "two ids, no index",
      [part("a", "f", F, null), part("b", "f", F, null)],
      [
        ["a", "f", F],
        ["b", "f", F],
      ],
    ],
    [
      "two ids at one index, in turns",
      [part("a", "f", '{"a"'), part("b", "g", '{"b"'), part("a", null, ":1}"), part("b", null, ":2}")],
      [
        ["a", "f", F],
        ["b", "g", '{"b":2}'],
      ],
    ],
    ["an id and a name repeated", [part("a", "f", '{"a"'), part("a", "f", ":1}")], [["a", "f", F]]],
    ["a name repeated without an id", [part("a", "f", '{"a"'), part(null, "f", ":1}")], [["a", "f", F]]],
    [
      "a name in pieces",
      [part("a", "get", ""), part(null, "_it", ""), part(null, null, F)],
      [["a", "get_it", F]],
    ],
    [
      "no ids, two names",
      [part("", "f", F), part("", "g", F)],
      [
        ["", "f", F],
        ["", "g", F],
      ],
    ],
    [
      "no ids, one name, whole arguments",
      [part(null, "f", F), part(null, "f", F)],
      [
        ["", "f", F],
        ["", "f", F],
      ],
    ],
    [
      "one id at two indices",
      [part("a", "f", F, 0), part("a", "g", F, 1)],
      [
        ["a", "f", F],
        ["a", "g", F],
      ],
    ],
    ["an index that skips", [part("a", "f", F, 3), part(null, null, " ", 3)], [["a", "f", `${F} `]]],
    ["an index that is no number", [part("a", "f", F, "0" as never)], [["a", "f", F]]],
    ["arguments as an object", [part("a", "f", { a: 1 })], [["a", "f", F]]],
    ["arguments as null", [part("a", "f", null)], [["a", "f", ""]]],
    ["a number as id", [part(7 as never, "f", F)], [["7", "f", F]]],
    [
      "a call without function",
      [{ tool_calls: [{ id: "a", name: "f", arguments: { a: 1 } }] }],
      [["a", "f", F]],
    ],
  ])("stay apart: %s", (_, parts, calls) => {
    expect(called(read(...parts))).toEqual(calls);
  });

  it("keep their unknown members and those of other types", () => {
    const custom = { id: "c", type: "custom", custom: { name: "f", input: "x" } };
    const signed = {
      id: "a",
      type: "function",
      function: { name: "f", arguments: "", strict: true },
      extra: { s: 1 },
    };
    const { message, deltas } = read({
      tool_calls: [
        { index: 0, ...signed },
        { index: 1, ...custom },
      ],
    });
    expect(message["tool_calls"]).toEqual([signed, custom]);
    expect(deltas).toEqual([
      {
        tool_calls: [
          { index: 0, ...signed },
          { index: 1, ...custom },
        ],
      },
    ]);
  });
});

describe("text", () => {
  it.each(["content", "refusal", "reasoning_content", "reasoning"])(
    "never has half a character: %s",
    (name) => {
      const { message, deltas } = read({ [name]: "ok \ud83d" }, { [name]: "\ude00!" }, { [name]: "\ud83d" });
      expect(deltas).toEqual([{ [name]: "ok " }, { [name]: "\u{1F600}!" }, { [name]: "\ufffd" }]);
      expect(message[name]).toBe("ok \u{1F600}!\ufffd");
    },
  );

  it("never has half a character in arguments", () => {
    const { message, deltas } = read(part("a", "f", '"\ud83d'), part(null, null, '\ude00"'));
    expect(JSON.stringify(deltas)).not.toMatch(/\\ud/);
    expect(message["tool_calls"]).toMatchObject([{ function: { arguments: '"\u{1F600}"' } }]);
  });

  it.each([
    [42, "42"],
    [{ answer: 4 }, '{"answer":4}'],
    [["Fo", { type: "text", text: "ur." }], "Four."],
    [[{ type: "output_text", text: "Four." }], "Four."],
  ])("is read from the content %j", (content, text) => {
    expect(read({ content }).message["content"]).toBe(text);
  });
});

it("is cut until the server ended it, or if it is full", () => {
  const isCut = (content: string, end: boolean) => {
    const completion = new Completion();
    completion.take({ choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] });
    if (end) completion.end();
    return completion.result().delivered?.isCut;
  };
  expect([isCut("a", true), isCut("a", false)]).toEqual([false, true]);
  expect(isCut("x".repeat(3 * 1024 * 1024), true)).toBe(true);
});

describe("other members", () => {
  it("grow: texts and lists, items by index, objects by member; repeated ones stay", () => {
    const { message, deltas } = read(
      { thinking: "a", kind: "x", list: [1], items: [{ index: 0, text: "a" }], object: { text: "a", n: 1 } },
      {
        thinking: "b",
        kind: "x",
        list: [2],
        items: [{ index: 0, text: "b" }, { index: 1 }],
        object: { text: "b", n: 2 },
      },
      { nothing: null, thinking: "" },
    );
    expect(message).toMatchObject({ thinking: "ab", kind: "x", list: [1, 2], object: { text: "ab", n: 2 } });
    expect(message["items"]).toEqual([{ index: 0, text: "ab" }, { index: 1 }]);
    expect(deltas).toHaveLength(2);
    expect(deltas[0]).toMatchObject({ thinking: "a", list: [1], items: [{ index: 0, text: "a" }] });
  });

  it("change no prototype, and are such as every transport can carry", () => {
    const deep = JSON.parse("[".repeat(60) + "]".repeat(60));
    const odd = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"n":1e999}',
    );
    const { message } = read({ ...odd, deep, half: "\ud83d" }, odd, { content: "x" });
    expect(JSON.stringify(message)).toContain('"__proto__":{"polluted":1}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
    expect(JSON.stringify(message["deep"])).toBe(`${"[".repeat(20)}null${"]".repeat(20)}`);
    expect([message["n"], message["half"]]).toEqual([null, "\ufffd"]);
  });

  it("count towards the size limit", () => {
    const { message } = read({ content: "Four.", image: "x".repeat(3 * 1024 * 1024) }, { content: "more" });
    expect(message).toEqual({ role: "assistant", content: "Four.", refusal: null });
  });
});
