import { z } from "zod";
import type { ChatCompletion, ChatDelta, ReportedUsage } from "../domain/tools/chat.ts";
import type { JsonObject } from "../domain/core/json.ts";
import { unusable, type Verdict } from "./upstream-failure.ts";
import { readUsage } from "./usage.ts";
import { logprobsPart, WholeMessage, type WholePart, wholePart } from "./whole-message.ts";

/** Bytes of UTF-8. The whole result must fit into a gRPC message of 4 MiB. */
const MAX_CONTENT_BYTES = 2 * 1024 * 1024;

/** Characters. No token of ordinary text is longer. */
const LONGEST_TOKEN = 32;

const messagePart = z.object({ content: z.string().nullish(), refusal: z.string().nullish() });
const choice = z.object({
  index: z.int().nullish(),
  message: messagePart.nullish(),
  delta: messagePart.nullish(),
  finish_reason: z.string().nullish(),
  /** Moonshot. */
  usage: z.unknown().optional(),
});
type Choice = z.output<typeof choice>;

const wholeMessagePart = messagePart.extend(wholePart.shape);
const wholeChoice = choice.extend({
  message: wholeMessagePart.nullish(),
  delta: wholeMessagePart.nullish(),
  logprobs: logprobsPart.nullish(),
});
type PartOfWhole = z.output<typeof wholeChoice>;

/** The fields used of a chat completion object or chunk. Some servers send `error` in place of `choices`. */
const answerBody = z.object({
  choices: z.array(choice).nullish(),
  usage: z.unknown().optional(),
  x_groq: z.object({ usage: z.unknown().optional() }).nullish().catch(undefined),
  error: z.unknown().optional(),
});
const wholeBody = answerBody.extend({ choices: z.array(wholeChoice).nullish() });

/** Routers such as OpenRouter report the provider's HTTP status as a number or text. */
const statusOfError = z.object({ code: z.coerce.number() });

/** Errors caused by the conversation must not open the circuit breaker for other callers. */
function blameOf(error: unknown): Verdict {
  const status = statusOfError.safeParse(error).data?.code;
  if (status === 400 || status === 403 || status === 413 || status === 422) return "served";
  return status === 429 || status === 503 ? "unknown" : "broken";
}

/** Assembles a chat completion from an object or from chunks (OpenAI API, "Chat Completions"). */
export class Completion {
  #content = "";
  #bytes = 0;
  #refusal = "";
  #finishReason: string | null = null;
  #usage: ReportedUsage | undefined;
  #pieces = 0;
  /** Characters of text of all kinds. */
  #characters = 0;
  /** Chunks, those that no token can fill several times. */
  #filled = 0;
  /** Whether the answer came as a message, not in chunks. */
  #isWhole = false;
  /** Characters when the server counted last. */
  #counted = 0;
  readonly #whole: WholeMessage | undefined;
  #deltas: ChatDelta[] = [];

  /** @param whole whether reasoning, tool calls and log probabilities are read */
  constructor(whole = false) {
    this.#whole = whole ? new WholeMessage() : undefined;
  }

  /** Returns what was added since the last call, if the whole answer is read. */
  takeDeltas(): readonly ChatDelta[] {
    const taken = this.#deltas;
    this.#deltas = [];
    return taken;
  }

  /** Text chunks received. */
  get chunks(): number {
    return this.#pieces;
  }

  /** Whether the server produced anything to deliver: text, a finish reason or a token count. */
  get delivers(): boolean {
    return this.#pieces > 0 || this.finished || this.counted;
  }

  /** Whether the text reached its size limit; the rest of the stream is not read. */
  get full(): boolean {
    return this.#bytes > MAX_CONTENT_BYTES;
  }

  /** Whether the server counted tokens. It bills for them even if the response breaks off. */
  get counted(): boolean {
    const { promptTokens = 0, completionTokens = 0, totalTokens = 0 } = this.#usage ?? {};
    return promptTokens + completionTokens + totalTokens > 0;
  }

  /** Whether a finish reason arrived; later chunks are ignored. */
  get finished(): boolean {
    return this.#finishReason !== null;
  }

  /** Adds the response or a chunk. @throws ModelServerError if it is malformed or reports a failure */
  take(body: unknown): void {
    const parsed = (this.#whole ? wholeBody : answerBody).safeParse(body);
    if (!parsed.success) throw unusable("the model server's answer could not be read", parsed.error);
    const { choices, error } = parsed.data;
    if (error !== undefined && error !== null)
      throw unusable("the model server failed while it answered", new Error(JSON.stringify(error)), {
        verdict: blameOf(error),
        worked: this.delivers,
      });
    // Only one choice is requested and sold.
    const first = choices?.find(({ index }) => (index ?? 0) === 0);
    if (first && !this.finished) this.#append(first);
    const { usage, x_groq } = parsed.data;
    for (const counts of [first?.usage, x_groq?.usage, usage]) this.#count(counts);
  }

  #count(usage: unknown): void {
    const counted = readUsage(usage, this.#usage);
    if (!counted) return;
    this.#usage = counted;
    this.#counted = this.#characters;
  }

  #delivered(characters: number): void {
    this.#characters += characters;
    this.#filled += Math.ceil(characters / LONGEST_TOKEN);
  }

  /** Returns the completion. @param cutBy finish reason if the server sent none. @throws ModelServerError */
  result(cutBy: string | null = null): ChatCompletion {
    if (!this.delivers) throw unusable("the model returned no text", undefined, { verdict: "served" });
    // A refusal in words is an answer, in any field.
    const content = (this.#content === "" ? this.#refusal : this.#content).toWellFormed();
    const isBehind = !this.finished && this.#characters > this.#counted;
    const answer = {
      content,
      finishReason: reasonOf(this.#finishReason) ?? cutBy,
      usage: this.#usage ? { ...this.#usage, ...(isBehind && { isBehind }) } : null,
      delivered: { characters: this.#characters, chunks: this.#isWhole ? undefined : this.#filled },
    };
    return this.#whole ? { ...answer, whole: this.#whole.result(this.#content, this.#refusal) } : answer;
  }

  #append(choice: Choice | PartOfWhole): void {
    const { delta, message, finish_reason } = choice;
    const part = delta ?? message;
    this.#isWhole ||= !delta && Boolean(message);
    if (finish_reason === "error") throw unusable("the model server failed while it answered", undefined);
    const [content, refusal] = [part?.content ?? "", part?.refusal ?? ""];
    const lengths = [this.#content.length, this.#refusal.length];
    this.#content += content;
    this.#refusal += refusal;
    this.#bytes += Buffer.byteLength(content) + Buffer.byteLength(refusal);
    this.#finishReason = finish_reason || null;
    if (this.full) {
      this.#content = cutTo(MAX_CONTENT_BYTES, this.#content);
      this.#refusal = cutTo(MAX_CONTENT_BYTES, this.#refusal);
      this.#finishReason = "length";
    }
    // Slicing joins the whole text, so only the last part is cut.
    const added = {
      ...(content !== "" && { content: this.full ? this.#content.slice(lengths[0]) : content }),
      ...(refusal !== "" && { refusal: this.full ? this.#refusal.slice(lengths[1]) : refusal }),
    };
    const grown = this.#whole ? this.#appendWhole(this.#whole, choice, added) : 0;
    this.#delivered(content.length + refusal.length + grown);
    if (content !== "" || refusal !== "" || grown > 0) this.#pieces++;
  }

  /** @returns the characters that it adds to the other members */
  #appendWhole(whole: WholeMessage, choice: PartOfWhole, added: JsonObject): number {
    const part = choice.delta ?? choice.message ?? {};
    const { tool_calls, reasoning, reasoning_content } = part;
    if (tool_calls ?? reasoning ?? reasoning_content ?? choice.logprobs) {
      const extra = { tool_calls, reasoning, reasoning_content, logprobs: choice.logprobs };
      this.#bytes += Buffer.byteLength(JSON.stringify(extra));
    }
    if (this.full) this.#finishReason = "length";
    const fits = !this.full;
    const more = fits ? whole.add(part) : undefined;
    const logprobs = fits && choice.logprobs ? whole.addLogprobs(choice.logprobs) : undefined;
    const delta = { ...added, ...more };
    if (Object.keys(delta).length === 0 && !logprobs) return 0;
    this.#deltas.push({ delta, logprobs });
    return more ? lengthOf(part) : 0;
  }
}

/** Characters of what a model wrote. */
function lengthOf({ reasoning_content, reasoning, tool_calls }: WholePart): number {
  const called = (tool_calls ?? []).flatMap((call) => [call.function?.name, call.function?.arguments]);
  return [reasoning_content, reasoning, ...called].reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** Truncates to whole characters. */
function cutTo(bytes: number, text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}

/** Returns null for anything but a word such as "stop". */
function reasonOf(reason: string | null): string | null {
  return reason !== null && /^[a-z_]{1,32}$/.test(reason) ? reason : null;
}
