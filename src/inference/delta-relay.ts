import type { JsonValue } from "../domain/core/json.ts";
import { isJsonObject } from "../domain/core/json.ts";
import type { ChatDelta, ChatListener } from "../domain/tools/chat.ts";
import type { Completion } from "./completion.ts";
import type { Secrets } from "./secrets.ts";

/**
 * Hands on what an answer gains. A delta whose text may be the start of a secret waits until the next ones
 * show that it is none.
 */
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

  /**
   * Hands on what was added since the last call.
   * @returns a promise while the caller cannot take more
   * @throws ModelServerError if the text contains a secret
   */
  forward(): Promise<void> | undefined {
    const fresh = this.#completion.takeDeltas();
    if (fresh.length === 0) return undefined;
    const deltas = this.#held.length === 0 ? fresh : [...this.#held, ...fresh];
    const text = fresh.map(({ delta }) => textIn(delta)).join("");
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

function textIn(value: JsonValue): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textIn).join("");
  return isJsonObject(value) ? Object.values(value).map(textIn).join("") : "";
}
