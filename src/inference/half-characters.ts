/** Keeps the first half of a surrogate pair until the text goes on: a chunk of its own could not carry it. */
export class HalfCharacters {
  readonly #held = new Map<string, string>();

  /** Returns the whole characters of a text and of what was held of it. @param name of the text */
  take(name: string, text: string): string {
    const whole = (this.#held.get(name) ?? "") + text;
    this.#held.delete(name);
    const isHalf = /[\ud800-\udbff]$/.test(whole.slice(-1));
    if (isHalf) this.#held.set(name, whole.slice(-1));
    return (isHalf ? whole.slice(0, -1) : whole).toWellFormed();
  }

  /** Returns what stands for a half whose other half never came. */
  end(name: string): string {
    return this.#held.delete(name) ? "\ufffd" : "";
  }
}
