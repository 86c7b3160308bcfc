import type { JsonValue } from "../domain/core/json.ts";
import { isJsonObject, objectOf } from "../domain/core/json.ts";
import type { ChatDelta, ChatListener } from "../domain/tools/chat.ts";
import type { Completion } from "./completion.ts";
import type { Secrets } from "./secrets.ts";

/** Hands on an answer. A delta that may start a secret waits until the next ones show it does not. */
export class DeltaRelay {
  readonly #completion: Completion;
  readonly #listener: ChatListener;
  readonly #secrets: Secrets;
  #held: readonly ChatDelta[] = [];
  /** Text in which a secret may have started. */
  #started = "";

  constructor(completion: Completion, listener: ChatListener, secrets: Secrets) {
    this.#completion = completion;
    this.#listener = listener;
    this.#secrets = secrets;
  }

  /** Hands on what was added. @returns a promise while the caller is full. @throws ModelServerError */
  forward(): Promise<void> | undefined {
    const fresh = this.#completion.takeDeltas();
    if (fresh.length === 0) return undefined;
    const deltas = this.#held.length === 0 ? fresh : [...this.#held, ...fresh];
    const text = fresh.map(textOf).join("");
    const started = this.#secrets.startIn(this.#started + text);
    this.#started = started ?? "";
    this.#held = started === undefined ? [] : deltas;
    return started === undefined ? this.#handOn(deltas) : undefined;
  }

  /** Hands on the rest of an answer without secrets. */
  finish(): void {
    void this.#handOn([...this.#held, ...this.#completion.takeDeltas()]);
  }

  #handOn(deltas: readonly ChatDelta[]): Promise<void> | undefined {
    let waiting: Promise<void> | undefined;
    for (const delta of deltas) waiting = this.#listener.take(delta);
    return waiting;
  }
}

function textOf({ delta, choice = {}, answer = {}, event }: ChatDelta): string {
  if (!event) return textIn([delta, choice, answer]);
  // The names of events and parts are in no text.
  const { type: _, ...said } = objectOf(event["delta"] ?? event["content_block"] ?? event["item"]);
  return typeof event["delta"] === "string" ? event["delta"] : textIn(said);
}

function textIn(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textIn).join("");
  return isJsonObject(value) ? Object.values(value).map(textIn).join("") : "";
}
