/** A public document about the gateway. */
export interface ServedDocument {
  readonly path: string;
  readonly mediaType: string;
  /** Cache lifetime, seconds. */
  readonly maxAgeSeconds: number;
  /** The current text; the same string until it changes. */
  text(): string;
}
