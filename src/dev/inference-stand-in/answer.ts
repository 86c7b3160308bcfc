/** The one listed model; its name states that it is a stand-in. */
export const STAND_IN_MODEL = { id: "local-stand-in", contextLength: 8_192 } as const;

/** An answer with its counts; a word counts as a token. */
export interface Answer {
  readonly content: string;
  readonly finishReason: "stop" | "length";
  readonly promptTokens: number;
  readonly completionTokens: number;
}

const LONGEST_QUOTE = 200;

/** States that no model is at work and repeats the last message: the call arrived. */
export function answerTo(
  messages: readonly { readonly content: string }[],
  maxTokens: number | undefined,
): Answer {
  const last = messages.at(-1)?.content ?? "";
  const quote = last.length > LONGEST_QUOTE ? `${last.slice(0, LONGEST_QUOTE)}…` : last;
  const words = wordsOf(
    "This is Toolgate's local stand-in, not a language model. Set INFERENCE_BASE_URL to use a real " +
      `one. Your last message was: ${quote}`,
  );
  const kept = words.slice(0, maxTokens);
  return {
    content: kept.join(" "),
    finishReason: kept.length < words.length ? "length" : "stop",
    promptTokens: messages.reduce((sum, message) => sum + wordsOf(message.content).length, 0),
    completionTokens: kept.length,
  };
}

function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
