import { z } from "zod";
import type { ChatCompletion, ChatUsage } from "../domain/chat.ts";
import { unusable, type Verdict } from "./upstream-failure.ts";

/** Longest text of an answer, bytes of UTF-8: whole answers have to fit into gRPC's 4 MiB with what stands around them. */
const MAX_CONTENT_BYTES = 2 * 1024 * 1024;

/** More than any server counts in one answer; what is above was not counted. */
const MAX_TOKENS = 1_000_000_000;

const tokens = z.int().min(0).max(MAX_TOKENS);
const usageBody = z
  .object({ prompt_tokens: tokens, completion_tokens: tokens, total_tokens: tokens })
  .refine((usage) => usage.prompt_tokens + usage.completion_tokens === usage.total_tokens);

/** What is said in an answer, or in a piece of it. Reasoning and calls of tools are not sold, so they are not read. */
const messagePart = z.object({ content: z.string().nullish(), refusal: z.string().nullish() });

const choice = z.object({
  index: z.int().nullish(),
  message: messagePart.nullish(),
  delta: messagePart.nullish(),
  finish_reason: z.string().nullish(),
});

/** As much of a chat completion object, or of a chunk of one, as is used. Some servers tell of a failure in place of choices. */
const answerBody = z.object({
  choices: z.array(choice).nullish(),
  usage: z.unknown().optional(),
  error: z.unknown().optional(),
});

/** Routers tell in an answer what a provider behind them said: the status that it would have been, as number or as text. */
const statusOfError = z.object({ code: z.coerce.number() });

/** What an error within an answer says of its server. What the conversation is to blame for must not keep others from the server. */
function blameOf(error: unknown): Verdict {
  const status = statusOfError.safeParse(error).data?.code;
  if (status === 400 || status === 403 || status === 413 || status === 422) return "served";
  return status === 429 || status === 503 ? "unknown" : "broken";
}

/** Puts an answer together, from one object or from the chunks of a stream (OpenAI API reference, "Chat Completions"). */
export class Completion {
  #content = "";
  #bytes = 0;
  #refusal = "";
  #finishReason: string | null = null;
  #usage: ChatUsage | null = null;
  #pieces = 0;

  /** How many pieces of text have come. */
  get chunks(): number {
    return this.#pieces;
  }

  /** Whether the server has computed something that can be delivered: text, a reason for the end, or counted tokens. */
  get delivers(): boolean {
    return this.#pieces > 0 || this.finished || this.counted;
  }

  /** Whether the text is as long as it may be: what comes after that is not read. */
  get full(): boolean {
    return this.#bytes > MAX_CONTENT_BYTES;
  }

  /** Whether the server has counted tokens: it bills them, whatever becomes of the answer. */
  get counted(): boolean {
    return (this.#usage?.totalTokens ?? 0) > 0;
  }

  /** Whether the server has said why the answer ended: what comes after that is not part of it. */
  get finished(): boolean {
    return this.#finishReason !== null;
  }

  /**
   * Takes the whole answer or the next chunk.
   * @throws ModelServerError when it is no such thing, or reports a failure
   */
  take(body: unknown): void {
    const parsed = answerBody.safeParse(body);
    if (!parsed.success) throw unusable("the model server's answer could not be read", parsed.error);
    const { choices, usage, error } = parsed.data;
    if (error !== undefined && error !== null)
      throw unusable("the model server failed while it answered", new Error(JSON.stringify(error)), {
        verdict: blameOf(error),
        worked: this.delivers,
      });
    // Only the first answer was asked for, and is sold.
    const first = choices?.find(({ index }) => (index ?? 0) === 0);
    if (first && !this.finished) this.#append(first);
    const counted = usageBody.safeParse(usage);
    if (counted.success)
      this.#usage = {
        promptTokens: counted.data.prompt_tokens,
        completionTokens: counted.data.completion_tokens,
        totalTokens: counted.data.total_tokens,
      };
  }

  /**
   * The answer. Its text may be empty: the reason for its end then says why.
   * @param cutBy why the answer ended where the server did not say
   * @throws ModelServerError when nothing was computed: there is nothing to sell
   */
  result(cutBy: string | null = null): ChatCompletion {
    if (!this.delivers)
      throw unusable("the model answered without any text", undefined, { verdict: "served" });
    // A model that refuses in words has answered, wherever its server puts them.
    const content = (this.#content === "" ? this.#refusal : this.#content).toWellFormed();
    return { content, finishReason: reasonOf(this.#finishReason) ?? cutBy, usage: this.#usage };
  }

  #append({ delta, message, finish_reason }: z.output<typeof choice>): void {
    const said = delta ?? message;
    if (finish_reason === "error") throw unusable("the model server failed while it answered", undefined);
    this.#content += said?.content ?? "";
    if (said?.content || said?.refusal) this.#pieces++;
    this.#refusal += said?.refusal ?? "";
    this.#bytes += Buffer.byteLength(said?.content ?? "") + Buffer.byteLength(said?.refusal ?? "");
    this.#finishReason = finish_reason || null;
    if (this.#bytes <= MAX_CONTENT_BYTES) return;
    this.#content = cutTo(MAX_CONTENT_BYTES, this.#content);
    this.#refusal = cutTo(MAX_CONTENT_BYTES, this.#refusal);
    this.#finishReason = "length";
  }
}

/** As much of a text as fits, whole characters. */
function cutTo(bytes: number, text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}

/** A word such as "stop"; null for anything else, which callers could not make use of. */
function reasonOf(reason: string | null): string | null {
  return reason !== null && /^[a-z_]{1,32}$/.test(reason) ? reason : null;
}
