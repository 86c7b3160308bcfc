import { type JsonObject, textOf } from "../../domain/core/json.ts";
import type { ToolName } from "./read-tools.ts";

/** What an answer repeats or reads of its request. */
export interface Asked {
  /** What was left out. */
  readonly notes: ReadonlySet<string>;
  /** The caller's names of tools that have others in chat completions. */
  readonly names: ReadonlyMap<string, ToolName>;
  readonly repeated: JsonObject;
}

/**
 * Returns a response that has started (OpenAI API, "The response object").
 * @param head `id`, `created` and `model` of a chat completion @param own members of a server's own
 */
export function startedResponse({ repeated }: Asked, head: JsonObject, own: JsonObject = {}): JsonObject {
  const { created = 0, model = "" } = head;
  return {
    object: "response",
    created_at: created,
    error: null,
    incomplete_details: null,
    ...repeated,
    ...own,
    id: `resp_${digitsOf(head)}`,
    model,
    status: "in_progress",
    output: [],
    usage: null,
    store: false,
  };
}

/** Digits that ids of an answer and its items share. */
export function digitsOf({ id }: JsonObject): string {
  return textOf(id).replace(/^chatcmpl-/, "");
}

/** Reasons of an incomplete response, by the finish reasons of chat completions. */
const CUT: ReadonlyMap<unknown, string> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** @param choice of a chat completion @returns undefined unless it is incomplete */
export function reasonOfCut({ finish_reason: reason }: JsonObject): string | undefined {
  return CUT.get(reason);
}
