import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";
import type { WholeChoice } from "../domain/tools/chat.ts";
import { HalfCharacters } from "./half-characters.ts";
import { type MessagePart, REASONING } from "./message-parts.ts";
import { addMembers, hasContent, otherMembers } from "./other-members.ts";
import { ToolCalls } from "./tool-calls.ts";

/** What a part added to a message. */
export interface Added {
  /** Undefined: nothing. */
  readonly delta: JsonObject | undefined;
  /** As a chunk has them. */
  readonly logprobs: JsonObject | undefined;
  /** Of text that the model wrote. */
  readonly characters: number;
  /** Of JSON. */
  readonly bytes: number;
}

const NOTHING: Added = { delta: undefined, logprobs: undefined, characters: 0, bytes: 0 };

const TEXTS = ["content", "refusal", ...REASONING] as const;
const NONE: ReadonlySet<string> = new Set();

/** Assembles a message and its log probabilities (OpenAI API, chat completion chunk). */
export class WholeMessage {
  readonly #texts = new Map<string, string>();
  readonly #halves = new HalfCharacters();
  readonly #calls = new ToolCalls(this.#halves);
  readonly #more: JsonObject = {};
  readonly #logprobs: JsonObject = {};

  /** The answer in words. A refusal in words is an answer, in any field. */
  get text(): string {
    return this.#texts.get("content") || (this.#texts.get("refusal") ?? "");
  }

  /** Adds a part. @param room bytes that the whole may still take; else only text fits */
  add(part: MessagePart | undefined, logprobs: JsonValue | undefined, room: number): Added {
    const { content = "", refusal = "", reasoning = {}, calls = [], more = {} } = part ?? {};
    const probabilities = isJsonObject(logprobs) ? otherMembers(logprobs, NONE) : {};
    const others = { ...reasoning, calls, more, probabilities };
    const size =
      calls.length > 0 || hasContent({ ...reasoning, ...more, ...probabilities }) ? sizeOf(others) : 0;
    const bytes = Buffer.byteLength(content) + Buffer.byteLength(refusal) + size;
    if (bytes > room)
      return { ...this.#addTexts({ content: cutTo(room, content), refusal: cutTo(room, refusal) }), bytes };
    const added = this.#addTexts({ content, refusal, ...reasoning });
    const called = this.#calls.add(calls);
    addMembers(this.#more, more);
    addMembers(this.#logprobs, probabilities);
    const delta = {
      ...(hasContent(more) && more),
      ...added.delta,
      ...(called.length > 0 && { tool_calls: called }),
    };
    const written = calls.reduce(
      (sum, call) => sum + (call.called ? call.called.name.length + call.called.input.length : 0),
      0,
    );
    return {
      delta: Object.keys(delta).length > 0 ? delta : undefined,
      logprobs: hasContent(probabilities) ? { content: null, refusal: null, ...probabilities } : undefined,
      characters: added.characters + written,
      bytes,
    };
  }

  /** Ends texts that end in half a character. */
  end(): Added {
    const ends = TEXTS.map((name) => [name, this.#halves.end(name)] as const).filter(([, end]) => end !== "");
    return ends.length === 0 ? NOTHING : this.#addTexts(Object.fromEntries(ends));
  }

  result(): WholeChoice {
    const { content = "", refusal = "", ...reasoning } = Object.fromEntries(this.#texts);
    const hasCalls = this.#calls.count > 0;
    return {
      message: {
        ...this.#more,
        role: "assistant",
        content: content === "" && (hasCalls || refusal !== "") ? null : content,
        refusal: refusal === "" ? null : refusal,
        ...reasoning,
        ...(hasCalls && { tool_calls: this.#calls.result() }),
      },
      ...(Object.keys(this.#logprobs).length > 0 && {
        logprobs: { content: null, refusal: null, ...this.#logprobs },
      }),
    };
  }

  #addTexts(texts: Readonly<Record<string, string>>): Added {
    const delta: JsonObject = {};
    let characters = 0;
    for (const [name, text] of Object.entries(texts)) {
      const whole = this.#halves.take(name, text);
      if (whole === "") continue;
      this.#texts.set(name, (this.#texts.get(name) ?? "") + whole);
      delta[name] = whole;
      characters += whole.length;
    }
    return { ...NOTHING, delta: characters > 0 ? delta : undefined, characters };
  }
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Truncates to whole characters. */
function cutTo(bytes: number, text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, Math.max(0, bytes)), { stream: true });
}
