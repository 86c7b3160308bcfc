import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";
import type {
  ChatCompletion,
  ChatDelta,
  ChatOptions,
  Delivered,
  ReportedUsage,
} from "../domain/tools/chat.ts";
import { readMessage } from "./message-parts.ts";
import { LatestMembers, otherMembers } from "./other-members.ts";
import { refusalOf } from "./refusal.ts";
import { unusable, type Verdict } from "./upstream-failure.ts";
import { readUsage } from "./usage.ts";
import { WholeMessage } from "./whole-message.ts";

/** Bytes of UTF-8. The whole result must fit into a gRPC message of 4 MiB. */
const MAX_CONTENT_BYTES = 2 * 1024 * 1024;

/** Characters. No token of ordinary text is longer. */
const LONGEST_TOKEN = 32;

/** Members that are read, or that the gateway's answer has itself: a server cannot set them. */
const OF_ANSWER = new Set(
  "id object created model choices usage error receipt_id receipt type content finish_reason message".split(
    " ",
  ),
);
const OF_CHOICE = new Set(
  "index message delta finish_reason original_finish_reason logprobs usage error".split(" "),
);

/** Routers such as OpenRouter report the provider's HTTP status as a number or text. */
function statusOfError(error: JsonValue): number {
  return isJsonObject(error) ? Number(error["code"]) : Number.NaN;
}

/** Errors caused by the conversation must not open the circuit breaker for other callers. */
function blameOf(error: JsonValue): Verdict {
  const status = statusOfError(error);
  if (status === 400 || status === 403 || status === 413 || status === 422) return "served";
  return status === 429 || status === 503 ? "unknown" : "broken";
}

/** What is handed on of an answer: deltas, the events of its server, or nothing. */
export type Relayed = "deltas" | "events" | undefined;

/** Assembles a chat completion from an object or from chunks (OpenAI API, "Chat Completions"). */
export class Completion {
  readonly #message = new WholeMessage();
  readonly #answer = new LatestMembers();
  readonly #choice = new LatestMembers();
  readonly #relayed: Relayed;
  readonly #isUsedUp: ChatOptions["isUsedUp"];
  #deltas: ChatDelta[] = [];
  #bytes = 0;
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
  #isEnded = false;
  /** Whether what was delivered uses up what the call may cost. */
  #isOver = false;

  /** @param relayed what {@link takeDeltas} returns */
  constructor(relayed?: Relayed, isUsedUp?: ChatOptions["isUsedUp"]) {
    this.#relayed = relayed;
    this.#isUsedUp = isUsedUp;
  }

  /** Returns what was added since the last call. */
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

  /** Whether the text reached its size limit, or what the call may cost; the rest is not read. */
  get full(): boolean {
    return this.#isOver || this.#bytes > MAX_CONTENT_BYTES;
  }

  /** Notes that the server has nothing to add: no text and no count. */
  end(): void {
    this.#isEnded = !this.full;
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

  /**
   * Adds the response or a chunk. @param form the member that has the text, where a choice has both
   * @throws ModelServerError if it is malformed or reports a failure
   */
  take(body: unknown, form: "message" | "delta" = "delta"): void {
    const answer = isJsonObject(body) ? body : undefined;
    const { choices = null, usage, x_groq: groq } = answer ?? {};
    // vLLM's form of an error has no member `error`.
    const { error = answer?.["object"] === "error" ? answer : null } = answer ?? {};
    if (!answer || (choices !== null && !Array.isArray(choices)))
      throw unusable("the model server's answer could not be read", new TypeError("no chat completion"));
    if (error !== null) throw this.#failed(error);
    // Only one choice is requested and sold.
    const first = (choices ?? []).filter(isJsonObject).find(({ index }) => (index ?? 0) === 0);
    this.#bytes += this.#answer.take(otherMembers(answer, OF_ANSWER));
    if (first && !this.finished) this.#append(first, form);
    const counts = [first?.["usage"], isJsonObject(groq) ? groq["usage"] : undefined, usage];
    for (const count of counts) this.#count(count);
  }

  /** Returns the completion. @param cutBy finish reason if the server sent none. @throws ModelServerError */
  result(cutBy: string | null = null): ChatCompletion {
    if (!this.delivers) throw unusable("the model returned no text", undefined, { verdict: "served" });
    this.#add(this.#message.end());
    const isBehind = (!this.finished || this.full) && this.#characters > this.#counted;
    const others = { choice: this.#choice.all, answer: this.#answer.all };
    return {
      content: this.#message.text,
      finishReason: reasonOf(this.#finishReason) ?? cutBy,
      usage: this.#usage ? { ...this.#usage, ...(isBehind && { isBehind }) } : null,
      delivered: { ...this.#delivered, isCut: !this.#isEnded },
      whole: { ...this.#message.result(), ...others },
    };
  }

  get #delivered(): Delivered {
    return { characters: this.#characters, chunks: this.#isWhole ? undefined : this.#filled };
  }

  /** Notes an event that is handed on as it came. */
  relay(event: JsonObject): void {
    if (this.#relayed === "events") this.#deltas.push({ delta: {}, logprobs: undefined, event });
  }

  #append(choice: JsonObject, form: "message" | "delta"): void {
    const { delta, message, finish_reason: reason, error = null, logprobs } = choice;
    if (error !== null || reason === "error") throw this.#failed(error);
    const [part] = (form === "delta" ? [delta, message] : [message, delta]).filter(isJsonObject);
    this.#isWhole ||= part !== undefined && part !== delta;
    this.#bytes += this.#choice.take(otherMembers(choice, OF_CHOICE));
    if (typeof reason === "string" && reason !== "") this.#finishReason = reason;
    const room = MAX_CONTENT_BYTES - this.#bytes;
    const added = this.#message.add(part && readMessage(part), logprobs, room);
    this.#bytes += added.bytes;
    this.#add(added);
    this.#isOver =
      !this.#isWhole && !this.finished && this.#isUsedUp?.(this.#delivered, this.#usage) === true;
    if (this.full) this.#finishReason = "length";
  }

  /** Notes what was added, for the one who takes the deltas and for an estimate of tokens. */
  #add({ delta, logprobs, characters }: AddedParts): void {
    if (!delta && !logprobs) return;
    if (characters > 0 || delta?.["tool_calls"] !== undefined) this.#pieces++;
    this.#characters += characters;
    this.#filled += Math.ceil(characters / LONGEST_TOKEN);
    if (this.#relayed !== "deltas") return;
    const others = { choice: this.#choice.takeFresh(), answer: this.#answer.takeFresh() };
    this.#deltas.push({ delta: delta ?? {}, logprobs, ...others });
  }

  #count(usage: JsonValue | undefined): void {
    const counted = readUsage(usage, this.#usage);
    if (!counted) return;
    this.#usage = counted;
    this.#counted = this.#characters;
  }

  #failed(error: JsonValue): Error {
    const cause = error === null ? undefined : new Error(JSON.stringify(error));
    const verdict = blameOf(error);
    const status = statusOfError(error);
    // Routers report moderation as 403.
    const said = this.delivers ? undefined : refusalOf(status === 403 ? 400 : status, error);
    return unusable("the model server failed while it answered", cause, {
      verdict,
      said,
      worked: error === null || this.delivers,
    });
  }
}

/** Returns null for anything but words. */
function reasonOf(reason: string | null): string | null {
  return reason !== null && /^[\w .:-]{1,64}$/.test(reason) ? reason : null;
}

type AddedParts = ReturnType<WholeMessage["end"]>;
