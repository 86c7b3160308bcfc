import type { JsonObject } from "../domain/core/json.ts";
import type { ChatModel, PassedRequest, ServerApi } from "../domain/tools/chat.ts";
import type { MemberTable } from "./members.ts";

/** The model of a request, as far as it decides how the request is read. */
export type Target = Pick<ChatModel, "api" | "passesUnknown" | "passesUrls" | "maxOutputTokens">;

/** An API of language models beside chat completions: its folder, named here and in index.ts. */
export interface Dialect {
  readonly api: Exclude<ServerApi, "chat">;
  /** Tables of docs/reference/dialects.md, by their title. */
  readonly members: Readonly<Record<string, MemberTable>>;
  /** Reads what a caller sends, without `stream`. @throws ToolgateError INVALID_REQUEST at `params.…` */
  read(body: JsonObject, target: Target): CallerRequest;
  /**
   * Returns the events that end a stream, or all of a stored answer.
   * @param answer with `receipt`, `receipt_id` and `usage.cost_usdc_microusd`
   * @param sent number of events before; 0: none
   */
  readonly lastEvents: (answer: JsonObject, sent: number) => readonly JsonObject[];
  readonly server: ServerDialect;
}

export interface CallerRequest {
  /** The request as a body of the chat completions API, by which it is checked and priced. */
  readonly chat: JsonObject;
  /** Undefined: the model's servers get {@link chat}. */
  readonly passed: PassedRequest | undefined;
  /**
   * Returns the answer.
   * @param passed the server's own, where the request was passed @param streamed what a stream had of it
   */
  answerOf(
    completion: JsonObject,
    passed: JsonObject | undefined,
    streamed?: EventMaker["output"],
  ): JsonObject;
  /** Makes the events of a stream. @param promptTokens an estimate */
  events(promptTokens: number): EventMaker;
}

export interface EventMaker {
  /** Returns the events of a chunk (OpenAI API, "The chat completion chunk object"). */
  take(chunk: JsonObject): readonly JsonObject[];
  /** Returns an event of a server of the same API as callers get it. @param head `id` and `model` */
  pass(event: JsonObject, head: JsonObject): readonly JsonObject[];
  /** Returns the events that end what the model said; usage and charge come after them. */
  end(completion: JsonObject, passed?: JsonObject): readonly JsonObject[];
  /** Items that were made so far, which the answer of a stream must have likewise. */
  readonly output?: readonly JsonObject[];
}

/** How a model server of an API is asked and read. */
export interface ServerDialect {
  /** After the base URL. */
  readonly path: string;
  /** Headers of a request. */
  headers(apiKey: string): Readonly<Record<string, string>>;
  /** What becomes of the members of a chat completion's request. Undefined: they are sent. */
  readonly chatMembers?: MemberTable;
  /** Returns a request. @param chat a body of the chat completions API */
  fromChat(chat: JsonObject): JsonObject;
  reader(): ServerReader;
}

/** Reads one answer. */
export interface ServerReader {
  /** Returns a whole answer as a chat completion. */
  whole(answer: JsonObject): JsonObject;
  /** Returns an event of a stream as chunks of a chat completion. */
  take(event: JsonObject): readonly JsonObject[];
  /** Whether the last event has come. */
  readonly isOver: boolean;
  /** Returns the answer so far, as a server of the API returns it whole. */
  answer(): JsonObject;
}
