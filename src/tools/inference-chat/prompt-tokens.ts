import type { ChatMessage, ChatModel } from "../../domain/tools/chat.ts";

type Content = Pick<ChatMessage, "content">;

/** Start and end marks, a default system prompt and the opening of the answer, added by the chat template. */
const TOKENS_PER_CONVERSATION = 64;
/** Role and end-of-turn marks. */
const TOKENS_PER_MESSAGE = 8;
/** Above the average of today's vocabularies for ordinary text. */
const BYTES_PER_TOKEN_AT_BEST = 8;

/**
 * Returns the tokens a prompt is priced at. Only the model's tokenizer could count them; this upper bound
 * holds because a byte-level vocabulary never yields more tokens than UTF-8 bytes.
 */
export function pricedPromptTokens(messages: readonly Content[], model: ChatModel): number {
  return (
    TOKENS_PER_CONVERSATION +
    messages.length * TOKENS_PER_MESSAGE +
    Math.ceil(contentBytes(messages) / model.bytesPerToken)
  );
}

/** Returns a lower bound, to reject conversations that cannot fit before payment. */
export function minPromptTokens(messages: readonly Content[]): number {
  return messages.length + Math.ceil(contentBytes(messages) / BYTES_PER_TOKEN_AT_BEST);
}

function contentBytes(messages: readonly Content[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(message.content, "utf8"), 0);
}
