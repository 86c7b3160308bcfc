import type { ChatModel } from "../../domain/chat.ts";

/** Models that are remembered; more than a list holds. */
const MAX_CACHED = 4_096;

/** Models that were offered and are not any more, each as it was last. Quotes for them may still be paid. */
export class WithdrawnModels {
  readonly #gone = new Map<string, ChatModel>();

  /** What was offered until now, and what is from now on. */
  update(before: readonly ChatModel[], now: readonly ChatModel[]): void {
    for (const model of before) this.#gone.set(model.id, model);
    for (const { id } of now) this.#gone.delete(id);
    for (const id of this.#gone.keys()) {
      if (this.#gone.size <= MAX_CACHED) return;
      this.#gone.delete(id);
    }
  }

  /** The one of that name. */
  find(id: unknown): ChatModel | undefined {
    return typeof id === "string" ? this.#gone.get(id) : undefined;
  }
}
