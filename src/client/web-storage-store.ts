import { isObject, jsonObject } from "./bytes.ts";
import { PaymentStoreError } from "./errors.ts";
import type { PaymentStore, StoredValue } from "./store.ts";

/** The part of `localStorage` that is used (HTML Standard, web storage). */
export interface WebStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The part of `navigator.locks` that is used (Web Locks API). */
export interface Locks {
  request<Result>(name: string, callback: () => Promise<Result>): Promise<Result>;
}

const PREFIX = "toolgate/";

/** A store in `localStorage`. @param locks `navigator.locks`, for several tabs; without, one may pay */
export function webStorageStore(storage: WebStorage, locks?: Locks): PaymentStore {
  const read = (key: string): StoredValue | undefined => {
    const text = storage.getItem(PREFIX + key);
    return text === null ? undefined : parse(text);
  };
  const alone = <Result>(work: () => Result): Promise<Result> =>
    locks ? locks.request("toolgate", async () => work()) : Promise.resolve().then(work);
  return {
    get: async (key) => read(key),
    put: (key, value, version) =>
      alone(() => {
        if (read(key)?.version !== version) return false;
        try {
          storage.setItem(PREFIX + key, JSON.stringify({ value, version: crypto.randomUUID() }));
        } catch (cause) {
          throw new PaymentStoreError("the storage cannot be written", { cause });
        }
        return true;
      }),
    async list(prefix) {
      const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? "");
      return keys.flatMap((key) => (key.startsWith(PREFIX + prefix) ? [key.slice(PREFIX.length)] : []));
    },
    delete: (key, version) =>
      alone(() => {
        if (read(key)?.version !== version) return false;
        storage.removeItem(PREFIX + key);
        return true;
      }),
  };
}

function parse(text: string): StoredValue {
  const stored = jsonObject(text);
  if (!isObject(stored) || typeof stored["value"] !== "string" || typeof stored["version"] !== "string")
    throw new PaymentStoreError("the storage holds an entry that cannot be read");
  return { value: stored["value"], version: stored["version"] };
}
