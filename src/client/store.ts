/** A value with its version, which changes with every write. */
export interface StoredValue {
  readonly value: string;
  readonly version: string;
}

/**
 * Store for payments and budgets. Every change is compare-and-set: it succeeds only if the version is
 * unchanged since it was read. Confirmed writes must survive the process, or a crash may pay twice.
 */
export interface PaymentStore {
  get(key: string): Promise<StoredValue | undefined>;
  /** @param version from `get`; undefined: the key must not exist. @returns whether it was written */
  put(key: string, value: string, version: string | undefined): Promise<boolean>;
  /** Keys with the prefix. */
  list(prefix: string): Promise<string[]>;
  /** @returns whether it was deleted */
  delete(key: string, version: string): Promise<boolean>;
}

/** A store in memory, for tests: a crash loses the record of payments. */
export function memoryStore(): PaymentStore {
  const values = new Map<string, StoredValue>();
  let count = 0;
  return {
    get: async (key) => values.get(key),
    async put(key, value, version) {
      if (values.get(key)?.version !== version) return false;
      values.set(key, { value, version: String((count += 1)) });
      return true;
    },
    list: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
    async delete(key, version) {
      return values.get(key)?.version === version && values.delete(key);
    },
  };
}
