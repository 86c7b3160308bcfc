import type { ChatMessage, ChatModel } from "../../domain/chat.ts";

/** What a chat template adds to a conversation: begin and end marks, a default system text, the opening of the answer. */
const TOKENS_PER_CONVERSATION = 64;
/** What a chat template adds to each message: role and end-of-turn marks. */
const TOKENS_PER_MESSAGE = 8;
/** More text than vocabularies of today put into a token of ordinary language on average. */
const BYTES_PER_TOKEN_AT_BEST = 8;

/**
 * The tokens that a prompt is priced at. Only the model's own tokenizer could count them; this bound needs none:
 * a byte-level vocabulary never makes more tokens than there are UTF-8 bytes, and templates add a little.
 */
export function pricedPromptTokens(messages: readonly ChatMessage[], model: ChatModel): number {
  return (
    TOKENS_PER_CONVERSATION +
    messages.length * TOKENS_PER_MESSAGE +
    Math.ceil(contentBytes(messages) / model.bytesPerToken)
  );
}

/** The fewest tokens that a prompt can be expected to have: what refuses a conversation that cannot fit, before anyone pays for it. */
export function minPromptTokens(messages: readonly ChatMessage[]): number {
  return messages.length + Math.ceil(contentBytes(messages) / BYTES_PER_TOKEN_AT_BEST);
}

function contentBytes(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + Buffer.byteLength(message.content, "utf8"), 0);
}
