import type { Message } from "@bufbuild/protobuf";

/** The encoded forms of messages that answer many requests. */
const encodings = new WeakMap<Message, Map<string, Buffer>>();

/** A message that answers everyone alike: made anew when its source is another object. */
export class SharedMessage<Source extends object, Shared extends Message> {
  readonly #make: (source: Source) => Shared;
  #kept: { readonly source: Source; readonly message: Shared } | undefined;

  constructor(make: (source: Source) => Shared) {
    this.#make = make;
  }

  /** The message made of this source, which must not be changed afterwards. */
  of(source: Source): Shared {
    if (this.#kept?.source !== source) {
      const message = this.#make(source);
      encodings.set(message, new Map());
      this.#kept = { source, message };
    }
    return this.#kept.message;
  }
}

/**
 * A shared message encoded, once for all answers; undefined for any other message.
 * @param form e.g. `json`: one that a message is always encoded in alike
 */
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
