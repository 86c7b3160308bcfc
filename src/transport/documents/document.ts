/** A document about the gateway that anyone may read. */
export interface ServedDocument {
  readonly path: string;
  readonly mediaType: string;
  /** How long a reader may go on using what it has, seconds. */
  readonly maxAgeSeconds: number;
  /** The document as it is now: the same string until it changes. */
  text(): string;
}
