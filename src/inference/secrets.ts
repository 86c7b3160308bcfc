import { ModelServerError } from "./upstream-failure.ts";

/** Shorter values are placeholders ("none", "EMPTY", "ollama") and occur in honest answers. */
const MIN_LENGTH = 16;

/** Characters of a secret from which a part of an answer waits for the next one. */
const MIN_START = 8;

/** An answer that repeats a secret. */
export class SecretError extends ModelServerError {
  constructor() {
    super("TOOL_FAILED", "the model server's answer contains a secret", { verdict: "unknown", worked: true });
  }
}

/** The operator's secrets, which no answer may repeat. */
export class Secrets {
  readonly #all: readonly string[];
  readonly #longest: number;

  /** @param values key and headers, as they are configured */
  constructor(values: readonly string[]) {
    this.#all = values
      .filter((secret) => secret.length >= MIN_LENGTH)
      .flatMap((secret) => [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")]);
    this.#longest = Math.max(0, ...this.#all.map(({ length }) => length));
  }

  areIn(text: string): boolean {
    return this.#all.some((secret) => text.includes(secret));
  }

  /** Withholds an answer that repeats a secret, even if it is cut inside it. @throws ModelServerError */
  requireNone(...texts: readonly string[]): void {
    if (texts.some((text) => this.areIn(text) || this.#endsInside(text, MIN_LENGTH))) throw new SecretError();
  }

  /** Returns the end of a text in which a secret may have started; undefined: none has. */
  startIn(text: string): string | undefined {
    if (this.areIn(text)) throw new SecretError();
    return this.#endsInside(text, MIN_START) ? text.slice(-this.#longest) : undefined;
  }

  #endsInside(text: string, least: number): boolean {
    const end = text.slice(-this.#longest);
    return this.#all.some((secret) => {
      for (let length = least; length < secret.length; length++)
        if (end.endsWith(secret.slice(0, length))) return true;
      return false;
    });
  }
}
