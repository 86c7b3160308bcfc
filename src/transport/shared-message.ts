import type { Message } from "@bufbuild/protobuf";

/** Cached encodings of shared messages. */
const encodings = new WeakMap<Message, Map<string, Buffer>>();

/** A message that many responses share: rebuilt when its source is another object. */
export class SharedMessage<Source extends object, Shared extends Message> {
  readonly #make: (source: Source) => Shared;
  #kept: { readonly source: Source; readonly message: Shared } | undefined;

  constructor(make: (source: Source) => Shared) {
    this.#make = make;
  }

  /** Returns the message of a source. Do not change the source afterwards. */
  of(source: Source): Shared {
    if (this.#kept?.source !== source) {
      const message = this.#make(source);
      encodings.set(message, new Map());
      this.#kept = { source, message };
    }
    return this.#kept.message;
  }
}

/** Returns the cached encoding of a shared message, else undefined. @param form such as `json` */
export function sharedEncoding(
  message: Message,
  form: string,
  encode: () => string | Uint8Array,
): Buffer | undefined {
  const known = encodings.get(message);
  if (!known) return undefined;
  const kept = known.get(form);
  if (kept) return kept;
  const encoded = Buffer.from(encode());
  known.set(form, encoded);
  return encoded;
}
