/** Files by name. Names contain `/`. */
export interface ObjectStore {
  /** Address without secrets, for messages. */
  readonly address: string;
  /** Returns the content; undefined if there is no such file. */
  get(name: string): Promise<Uint8Array | undefined>;
  /** Stores a new file durably and whole, or not at all. Returns false if the name is taken. */
  create(name: string, content: Uint8Array): Promise<boolean>;
}
