import type { ChatModel } from "../domain/tools/chat.ts";

const MAX_CACHED = 4_096;

/** Models no longer offered, with their last terms. Quotes for them may still be paid. */
export class WithdrawnModels {
  readonly #gone = new Map<string, ChatModel>();

  update(before: readonly ChatModel[], now: readonly ChatModel[]): void {
    for (const model of before) this.#gone.set(model.id, model);
    for (const { id } of now) this.#gone.delete(id);
    for (const id of this.#gone.keys()) {
      if (this.#gone.size <= MAX_CACHED) return;
      this.#gone.delete(id);
    }
  }

  all(): Iterable<ChatModel> {
    return this.#gone.values();
  }

  ids(): Iterable<string> {
    return this.#gone.keys();
  }

  find(id: unknown): ChatModel | undefined {
    return typeof id === "string" ? this.#gone.get(id) : undefined;
  }
}
