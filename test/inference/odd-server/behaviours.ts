import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";

export interface Asked {
  readonly stream: boolean;
  readonly authorization: string;
}

export type Behaviour = (response: ServerResponse, asked: Asked) => void;

const USAGE = { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 };
const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "served-name" };

type Choice = Record<string, unknown>;

function chunk(choices: Choice[], more: Record<string, unknown> = {}): string {
  return JSON.stringify({ ...HEAD, choices, ...more });
}
function say(content: unknown, more: Choice = {}): string {
  return chunk([{ index: 0, delta: { content }, finish_reason: null, ...more }]);
}
const FINISH = chunk([{ index: 0, delta: {}, finish_reason: "stop" }]);
const COUNT = chunk([], { usage: USAGE });
const DONE = "[DONE]";
const GOOD = [say(""), say("Fo"), say("ur."), FINISH, COUNT, DONE];

function wire(events: readonly string[], end = "\n"): string {
  return events.map((data) => `data: ${data}${end}${end}`).join("");
}

function streamed(text: string | Buffer): Behaviour {
  return (response) =>
    response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" }).end(text);
}
function events(...list: readonly string[]): Behaviour {
  return streamed(wire(list));
}
/** Sends a part, then stalls. */
function held(list: readonly string[]): Behaviour {
  return (response) => response.writeHead(200, { "Content-Type": "text/event-stream" }).write(wire(list));
}
function body(value: unknown, status = 200, headers: Record<string, string> = {}): Behaviour {
  return (response) =>
    response
      .writeHead(status, { "Content-Type": "application/json", ...headers })
      .end(typeof value === "string" ? value : JSON.stringify(value));
}
function answer(message: unknown, more: object = {}): object {
  return {
    ...HEAD,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: USAGE,
    ...more,
  };
}
/** A stream with another content type. */
function mistyped(type: string | undefined): Behaviour {
  return (response) =>
    response.writeHead(200, type === undefined ? {} : { "Content-Type": type }).end(wire(GOOD));
}
function counted(usage: unknown): Behaviour {
  return events(say("Four."), FINISH, chunk([], { usage }), DONE);
}

/** One byte at a time, which splits characters and line ends. */
const inBytes: Behaviour = (response) => {
  const text = wire([say("Fo"), say("ür 😀."), FINISH, COUNT, DONE], "\r\n");
  const bytes = Buffer.from(text.replaceAll(',"choices"', ',\r\ndata: "choices"'));
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  let at = 0;
  const next = (): void => {
    if (at >= bytes.length) return void response.end();
    response.write(bytes.subarray(at, ++at));
    setImmediate(next);
  };
  next();
};

const dripping: Behaviour = (response) => {
  held([say("Fo")])(response, { stream: true, authorization: "" });
  const drip = setInterval(() => response.write(wire([say("o")])), 20);
  response.once("close", () => clearInterval(drip));
};

const keptAlive: Behaviour = (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  const beat = setInterval(() => response.write(": keep-alive\n\n"), 20);
  response.once("close", () => clearInterval(beat));
};

const cut: Behaviour = (response) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(wire([say("Fo")]), () => response.destroy());
};

const bomb: Behaviour = (response) =>
  response
    .writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" })
    .end(gzipSync(Buffer.alloc(64 * 1024 * 1024, " ")));

export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  // Unusual, but valid.
  good: events(...GOOD),
  plain: body(answer({ role: "assistant", content: "Four." })),
  "plain-with-bom": body(`\uFEFF${JSON.stringify(answer({ content: "Four." }))}`),
  crlf: streamed(wire(GOOD, "\r\n")),
  cr: streamed(wire(GOOD, "\r")),
  bom: streamed(`\uFEFF${wire(GOOD)}`),
  "bom-in-data": streamed(wire(GOOD.map((data) => `\uFEFF${data}`))),
  comments: streamed(
    ": OPENROUTER " +
      `PROCESSING\n\n${wire(GOOD).replaceAll("\n\n", "\n\n: keep-alive\n\nevent: x\nid: 1\nretry: 5\n\n")}`,
  ),
  "data-in-lines": streamed(wire(GOOD).replaceAll(',"choices"', ',\ndata: "choices"')),
  "no-space": streamed(wire(GOOD).replaceAll("data: ", "data:")),
  "in-bytes": inBytes,
  "stream-as-text": mistyped("text/plain"),
  "stream-as-json": mistyped("application/json"),
  "stream-as-nothing": mistyped(undefined),
  "plain-as-text": body(answer({ content: "Four." }), 200, { "Content-Type": "text/plain; charset=utf-8" }),
  "no-done": events(say("Four."), FINISH, COUNT),
  "no-last-line": streamed(wire([say("Four."), FINISH]) + "data: [DONE]"),
  "no-reason": events(say("Four."), DONE),
  "open-after-done": held(GOOD),
  "open-after-reason": held([say("Four."), FINISH]),
  "junk-after-reason": streamed(wire([say("Four."), FINISH]) + "data: {broken\n\n"),
  "junk-after-done": streamed(
    wire([say("Four."), FINISH, DONE]) + wire([say("Five.")]) + "data: {broken\n\n",
  ),
  "more-after-reason": events(say("Four."), FINISH, say("Five."), DONE),
  "two-choices": events(
    chunk([
      { index: 1, delta: { content: "Five." } },
      { index: 0, delta: { content: "Four." }, finish_reason: "stop" },
    ]),
    DONE,
  ),
  "message-in-stream": events(
    chunk([{ index: 0, message: { content: "Four." }, finish_reason: "stop" }]),
    DONE,
  ),
  "surrogate-apart": events(say("\ud83d"), say("\ude00"), FINISH, DONE),
  "surrogate-lone": events(say("a\ud83d"), FINISH, DONE),
  nul: events(say("a\u0000b"), FINISH, DONE),
  "odd-reason": events(say("Four.", { finish_reason: "Because of http://10.0.0.1/" }), DONE),
  "usage-negative": counted({ prompt_tokens: -11, completion_tokens: 2, total_tokens: -9 }),
  "usage-overflowing": counted({ prompt_tokens: 1e300, completion_tokens: 2, total_tokens: 1e300 }),
  "usage-inconsistent": counted({ ...USAGE, total_tokens: 99 }),
  "usage-text": counted("many"),
  "usage-detailed": counted({
    ...USAGE,
    prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 1 },
  }),
  "usage-reasoning-beside": counted({
    prompt_tokens: 11,
    completion_tokens: 2,
    total_tokens: 20,
    completion_tokens_details: { reasoning_tokens: 7 },
  }),
  "usage-details-absurd": counted({
    ...USAGE,
    prompt_tokens_details: { cached_tokens: 1e6 },
    completion_tokens_details: { reasoning_tokens: -5 },
  }),
  "more-than-asked": counted({ prompt_tokens: 11, completion_tokens: 9_999_999, total_tokens: 10_000_010 }),
  refusal: body(answer({ content: null, refusal: "I cannot do that." })),
  "refusal-streamed": events(chunk([{ index: 0, delta: { refusal: "I cannot do that." } }]), FINISH, DONE),
  reasoning: events(chunk([{ index: 0, delta: { reasoning_content: "Hm." } }]), say("Four."), FINISH, DONE),

  longest: events(...Array.from({ length: 8 }, () => say("ü".repeat(128 * 1024))), FINISH, DONE),

  // Computed, but without text.
  "reasoning-only": events(
    chunk([{ index: 0, delta: { reasoning_content: "Hm.", content: null } }]),
    FINISH,
    DONE,
  ),
  "tool-calls": body(
    answer({ content: null, tool_calls: [{ id: "1", type: "function", function: { name: "f" } }] }),
  ),
  empty: events(say(""), FINISH, DONE),
  "reasoned-too-long": events(
    chunk([{ index: 0, delta: { reasoning_content: "Hm.", content: null } }]),
    chunk([{ index: 0, delta: {}, finish_reason: "length" }]),
    COUNT,
    DONE,
  ),
  "counted-only": body({ choices: [], usage: USAGE }),
  "counted-then-cut": (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(wire([say("Fo", {}).replace(/}$/, `,"usage":${JSON.stringify(USAGE)}}`)]), () =>
      response.destroy(),
    );
  },

  // Nothing to deliver.
  "no-choices": body({ ...HEAD, choices: [] }),
  "no-message": body({ choices: [{}] }),
  "done-only": events(DONE),
  "too-long": events(...Array.from({ length: 9 }, () => say("x".repeat(256 * 1024))), FINISH, DONE),
  "event-too-long": streamed(`data: ${"x".repeat(5 * 1024 * 1024)}`),
  bomb,
  "headers-too-long": body(answer({ content: "Four." }), 200, { "X-Long": "x".repeat(100_000) }),
  html: (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Sign in</html>"),
  "bad-json": streamed(wire([say("Fo")]) + "data: {broken\n\n" + wire([FINISH, DONE])),
  "bad-json-open": held([say("Fo"), "{broken"]),
  "odd-chunk": streamed(wire([say("Fo")]) + 'data: {"choices":"none"}\n\n'),
  "array-content": events(say([{ type: "text", text: "Four." }]), FINISH, DONE),
  "half-chunk": streamed(wire([say("Fo")]) + `data: ${say("ur.").slice(0, 40)}`),
  "ends-early": events(say("Fo")),
  nothing: streamed(""),
  cut,
  "error-in-200": body({ error: { code: 429, message: "internal-host-17 is overloaded" } }),
  flagged: body({ error: { code: 403, message: "internal-host-17 flagged the input" } }),
  "flagged-in-stream": events(JSON.stringify({ error: { code: "400", message: "internal-host-17" } }), DONE),
  "error-in-stream": events(say("Fo"), JSON.stringify({ error: { message: "internal-host-17" } }), DONE),
  "error-as-reason": events(say("Fo"), chunk([{ index: 0, delta: {}, finish_reason: "error" }]), DONE),
  stall: held([say("Fo")]),
  silent: () => {},
  "headers-only": (response) => {
    response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
  },
  "kept-alive": keptAlive,
  dripping,
  "stalls-in-key": (response, { authorization }) =>
    held([say(`The key is ${authorization.slice(0, -4)}`)])(response, { stream: true, authorization }),
  "echoes-key": (response, { authorization }) =>
    events(
      ...[...`The key is ${authorization}.`].map((letter) => say(letter)),
      FINISH,
      DONE,
    )(response, { stream: true, authorization }),

  // Refusals.
  busy: body({ error: { message: "slow down" } }, 429, { "Retry-After": "1" }),
  "busy-long": body({ error: { message: "slow down" } }, 429, { "Retry-After": "86400" }),
  overloaded: body({ error: { message: "internal-host-17" } }, 503),
  "key-refused": body({ error: { message: "bad key" } }, 401),
  unknown: body({ error: { message: "no such model" } }, 404),
  "too-much": body({ error: { message: "context_length_exceeded" } }, 400),
  fails: body({ error: { message: "internal-host-17: CUDA out of memory" } }, 500),
};
