import { call, chunk, type Fixture, usage, whole } from "./fixture.ts";

const SIGNED = { extra_content: { google: { thought_signature: "c2lnbmVk" } } };
const CITED = [{ type: "url_citation", url_citation: { url: "https://example.com/a", start_index: 0 } }];
const SOURCES = {
  citations: ["https://example.com/a"],
  search_results: [{ title: "A", url: "https://example.com/a" }],
};
const DETAILS = [{ type: "reasoning.text", text: "Hm. So.", index: 0, format: "unknown" }];
const reasons = (text: string) => [{ type: "reasoning.text", text, index: 0, format: "unknown" }];
const XAI = {
  usage: {
    prompt_tokens: 11,
    completion_tokens: 2,
    total_tokens: 142,
    prompt_tokens_details: { text_tokens: 11, cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 129, accepted_prediction_tokens: 0 },
    num_sources_used: 1,
    cost_in_usd_ticks: 0,
  },
};

export const HOSTED: readonly Fixture[] = [
  {
    server: "OpenAI",
    whole: whole({ role: "assistant", content: "Four.", refusal: null, annotations: CITED }, "stop", {
      ...usage(11, 2, { prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } }),
      service_tier: "default",
    }),
    chunks: [
      chunk({ role: "assistant", content: "", refusal: null }, null, {
        service_tier: "default",
        usage: null,
      }),
      chunk({ content: "Four." }),
      chunk({ annotations: CITED }),
      chunk({}, "stop"),
      { choices: [], ...usage(11, 2, { prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } }) },
    ],
    expected: {
      message: { content: "Four.", annotations: CITED },
      finishReason: "stop",
      counts: [11, 2],
      usage: { prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 } },
      answer: { service_tier: "default" },
    },
  },
  {
    server: "Gemini",
    whole: whole(
      {
        role: "assistant",
        tool_calls: [
          call("function-call-1", "add", '{"a":2}', SIGNED),
          call("function-call-2", "add", '{"a":3}'),
        ],
      },
      "tool_calls",
      { usage: { prompt_tokens: 11, completion_tokens: 20, total_tokens: 603 } },
    ),
    chunks: [
      chunk({
        role: "assistant",
        tool_calls: [{ index: 0, ...call("function-call-1", "add", '{"a":2}', SIGNED) }],
      }),
      chunk(
        { role: "assistant", tool_calls: [{ index: 0, ...call("function-call-2", "add", '{"a":3}') }] },
        "tool_calls",
        {
          usage: { prompt_tokens: 11, completion_tokens: 20, total_tokens: 603 },
        },
      ),
    ],
    expected: {
      message: {
        content: null,
        tool_calls: [
          call("function-call-1", "add", '{"a":2}', SIGNED),
          call("function-call-2", "add", '{"a":3}'),
        ],
      },
      finishReason: "tool_calls",
      counts: [11, 592],
      usage: { total_tokens: 603, completion_tokens_details: { reasoning_tokens: 572 } },
    },
  },
  {
    server: "Mistral",
    whole: whole(
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
          { type: "text", text: "Four." },
          { type: "reference", reference_ids: [1] },
        ],
        tool_calls: [{ id: "D681PevKs", function: { name: "add", arguments: { a: 2 } }, index: 0 }],
      },
      "model_length",
      usage(11, 9),
    ),
    chunks: [
      chunk(
        { role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] },
        null,
        { p: "abc" },
      ),
      chunk({ content: "Four." }, null, { p: "abc" }),
      chunk({ content: [{ type: "reference", reference_ids: [1] }] }, null, { p: "abc" }),
      chunk(
        { tool_calls: [{ id: "D681PevKs", function: { name: "add", arguments: '{"a":2}' }, index: 0 }] },
        "model_length",
        usage(11, 9),
      ),
    ],
    expected: {
      message: {
        content: "Four.",
        reasoning_content: "Hm.",
        content_parts: [{ type: "reference", reference_ids: [1] }],
        tool_calls: [call("D681PevKs", "add", '{"a":2}')],
      },
      finishReason: "length",
      counts: [11, 9],
      choice: { original_finish_reason: "model_length" },
    },
  },
  {
    server: "Anthropic",
    whole: whole({ role: "assistant", content: "Four." }, "end_turn", {
      ...usage(11, 2),
      system_fingerprint: null,
    }),
    chunks: [
      chunk({ role: "assistant", content: "" }, null, { usage: { prompt_tokens: 11, completion_tokens: 1 } }),
      chunk({ content: "Four." }),
      chunk({}, "end_turn"),
      { choices: [], ...usage(11, 2) },
    ],
    expected: {
      message: { content: "Four." },
      finishReason: "stop",
      counts: [11, 2],
      choice: { original_finish_reason: "end_turn" },
    },
  },
  {
    server: "xAI",
    whole: whole({ role: "assistant", content: "Four.", reasoning_content: "Hm.", refusal: null }, "stop", {
      ...XAI,
      citations: SOURCES.citations,
    }),
    chunks: [
      chunk({ role: "assistant", reasoning_content: "Hm." }, null, {
        usage: { ...XAI.usage, completion_tokens: 0 },
      }),
      chunk({ content: "Four." }, null, XAI),
      chunk({ content: "" }, "stop", { ...XAI, citations: SOURCES.citations }),
    ],
    expected: {
      message: { content: "Four.", reasoning_content: "Hm." },
      finishReason: "stop",
      counts: [11, 131],
      usage: {
        num_sources_used: 1,
        prompt_tokens_details: { text_tokens: 11, cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 129, accepted_prediction_tokens: 0 },
      },
      answer: { citations: SOURCES.citations },
    },
  },
  {
    server: "OpenRouter",
    whole: whole(
      {
        role: "assistant",
        content: "Four.",
        reasoning: "Hm. So.",
        reasoning_details: DETAILS,
        annotations: CITED,
      },
      "stop",
      { ...usage(11, 6, { cost: 0.1, cost_details: {} }), provider: "Example" },
      { native_finish_reason: "completed" },
    ),
    chunks: [
      chunk({ role: "assistant", content: "", reasoning: "Hm. ", reasoning_details: reasons("Hm. ") }, null, {
        provider: "Example",
      }),
      chunk({ role: "assistant", content: "", reasoning: "So.", reasoning_details: reasons("So.") }),
      chunk({ role: "assistant", content: "Four.", annotations: CITED }),
      {
        ...chunk({}),
        choices: [
          { index: 0, delta: { content: "" }, finish_reason: "stop", native_finish_reason: "completed" },
        ],
      },
      {
        choices: [{ index: 0, delta: { content: "" }, finish_reason: null }],
        ...usage(11, 6, { cost: 0.1, cost_details: {} }),
      },
    ],
    expected: {
      message: { content: "Four.", reasoning: "Hm. So.", reasoning_details: DETAILS, annotations: CITED },
      finishReason: "stop",
      counts: [11, 6],
      choice: { native_finish_reason: "completed" },
      answer: { provider: "Example" },
    },
  },
  {
    server: "Perplexity",
    whole: whole(
      { role: "assistant", content: "Four." },
      "stop",
      { ...usage(11, 2, { citation_tokens: 7 }), ...SOURCES },
      {
        delta: { role: "assistant", content: "" },
      },
    ),
    chunks: ["Fo", "ur."].map((content, at, all) => ({
      ...SOURCES,
      ...usage(11, 2, { citation_tokens: 7 }),
      choices: [
        {
          index: 0,
          delta: { role: "assistant", content },
          message: { role: "assistant", content: all.slice(0, at + 1).join("") },
          finish_reason: at === 1 ? "stop" : null,
        },
      ],
    })),
    expected: {
      message: { content: "Four." },
      finishReason: "stop",
      counts: [11, 2],
      usage: { citation_tokens: 7 },
      answer: SOURCES,
    },
  },
  {
    server: "Groq",
    whole: whole({ role: "assistant", content: "Four." }, "stop", usage(11, 2, { queue_time: 0.1 })),
    chunks: [
      chunk({ role: "assistant", content: "Four." }),
      chunk({}, "stop", { x_groq: { id: "req_1", ...usage(11, 2) } }),
    ],
    expected: { message: { content: "Four." }, finishReason: "stop", counts: [11, 2] },
  },
  {
    server: "Moonshot",
    whole: whole({ role: "assistant", content: "Four." }, "stop", usage(11, 2)),
    chunks: [
      chunk({ role: "assistant", content: "Four." }),
      { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop", ...usage(11, 2) }] },
    ],
    expected: { message: { content: "Four." }, finishReason: "stop", counts: [11, 2] },
  },
  {
    server: "one that forges",
    whole: whole(
      { role: "assistant", content: "Four." },
      "stop",
      {
        ...usage(11, 2, { cost_usdc_microusd: 0, receipt_id: "rcpt_1", cost: 0, estimated: true }),
        receipt_id: "rcpt_1",
        receipt: {},
        type: "x",
      },
      { original_finish_reason: "x" },
    ),
    chunks: [
      chunk({ role: "system", content: "Four." }, null, {
        receipt_id: "rcpt_1",
        receipt: {},
        type: "x",
      }),
      chunk(
        {},
        "stop",
        usage(11, 2, { cost_usdc_microusd: 0, receipt_id: "rcpt_1", cost: 0, estimated: true }),
      ),
    ],
    expected: {
      message: { role: "assistant", content: "Four." },
      finishReason: "stop",
      counts: [11, 2],
    },
  },
];
