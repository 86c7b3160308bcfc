import { call, chunk, type Fixture, usage, whole } from "./fixture.ts";

const TIMINGS = { prompt_n: 11, prompt_ms: 31.2, predicted_n: 2, predicted_per_second: 52.1 };
const NULLS = { refusal: null, annotations: null, audio: null, function_call: null, reasoning_content: null };
const ADD = call("call_a", "add", '{"a":2}');
const MULTIPLY = call("call_b", "multiply", '{"a":3}');

export const SELF_HOSTED: readonly Fixture[] = [
  {
    server: "llama.cpp",
    whole: whole({ role: "assistant", content: "Four." }, "stop", {
      system_fingerprint: "b6700-3df2244d",
      ...usage(11, 2),
      timings: TIMINGS,
    }),
    chunks: [
      chunk({ role: "assistant", content: null }, null, { system_fingerprint: "b6700-3df2244d" }),
      chunk({ content: "Fo" }),
      chunk({ content: "ur." }),
      chunk({}, "stop"),
      { object: "chat.completion.chunk", choices: [], ...usage(11, 2), timings: TIMINGS },
    ],
    expected: {
      message: { content: "Four." },
      finishReason: "stop",
      counts: [11, 2],
      answer: { system_fingerprint: "b6700-3df2244d", timings: TIMINGS },
    },
  },
  {
    server: "vLLM",
    whole: whole(
      { role: "assistant", content: "Four.", ...NULLS, reasoning_content: "Hm.", tool_calls: [] },
      "stop",
      { ...usage(11, 6), prompt_logprobs: null, kv_transfer_params: null, service_tier: null },
      { logprobs: null, stop_reason: 128_001 },
    ),
    chunks: [
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "H", content: null }, null, usage(11, 1)),
      chunk({ reasoning_content: "m." }, null, usage(11, 2)),
      chunk({ content: "Four.", tool_calls: [] }, null, usage(11, 6)),
      {
        ...chunk({}),
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "stop", stop_reason: 128_001 }],
      },
      { choices: [], ...usage(11, 6) },
    ],
    expected: {
      message: { content: "Four.", reasoning_content: "Hm." },
      finishReason: "stop",
      counts: [11, 6],
      choice: { stop_reason: 128_001 },
    },
  },
  {
    server: "Ollama",
    whole: whole(
      { role: "assistant", content: "", tool_calls: [ADD, MULTIPLY] },
      "tool_calls",
      usage(11, 20),
    ),
    chunks: [
      chunk({ role: "assistant", content: "", tool_calls: [{ index: 0, ...ADD }] }),
      chunk({ role: "assistant", content: "", tool_calls: [{ index: 0, ...MULTIPLY }] }),
      chunk({ role: "assistant", content: "" }, "tool_calls"),
      { choices: [], ...usage(11, 20) },
    ],
    expected: {
      message: { content: null, tool_calls: [ADD, MULTIPLY] },
      finishReason: "tool_calls",
      counts: [11, 20],
    },
  },
  {
    server: "LM Studio",
    whole: whole(
      { role: "assistant", content: "\n", tool_calls: [call("365174485", "add", '{"a":2}')] },
      "tool_calls",
      {
        ...usage(11, 9),
        stats: {},
        system_fingerprint: "qwen2.5-7b-instruct",
      },
    ),
    chunks: [
      chunk({ role: "assistant", content: "\n" }, null, {
        system_fingerprint: "qwen2.5-7b-instruct",
        stats: {},
      }),
      chunk({
        tool_calls: [
          { index: 0, id: "365174485", type: "function", function: { name: "add", arguments: "" } },
        ],
      }),
      chunk({ tool_calls: [{ index: 0, function: { name: "add", arguments: '{"a"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { name: null, arguments: ":2}" } }] }),
      chunk({}, "tool_calls", usage(11, 9)),
    ],
    expected: {
      message: { content: "\n", tool_calls: [call("365174485", "add", '{"a":2}')] },
      finishReason: "tool_calls",
      counts: [11, 9],
      answer: { system_fingerprint: "qwen2.5-7b-instruct", stats: {} },
    },
  },
  {
    server: "TGI",
    whole: whole(
      {
        role: "assistant",
        tool_calls: [
          {
            id: 0,
            type: "function",
            function: { description: null, name: "add", arguments: { a: 2, b: [1] } },
          },
        ],
      },
      "stop",
      usage(11, 9),
    ),
    chunks: [
      chunk({
        role: "assistant",
        tool_calls: {
          index: 0,
          id: "0",
          type: "function",
          function: { name: "add", arguments: { a: 2, b: [1] } },
        },
      }),
      chunk({ role: "assistant", content: "" }, "stop"),
      { choices: [], ...usage(11, 9) },
    ],
    expected: {
      message: { content: null, tool_calls: [call("0", "add", '{"a":2,"b":[1]}')] },
      finishReason: "stop",
      counts: [11, 9],
    },
  },
  {
    server: "TGI text",
    whole: whole({ role: "assistant", content: "Four." }, "eos_token", usage(11, 2)),
    chunks: [
      chunk({ role: "assistant", content: "Four." }),
      chunk({ content: "" }, "eos_token", usage(11, 2)),
    ],
    expected: {
      message: { content: "Four." },
      finishReason: "stop",
      counts: [11, 2],
      choice: { original_finish_reason: "eos_token" },
    },
  },
];
