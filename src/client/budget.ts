import { isObject, jsonObject } from "./bytes.ts";
import { BudgetExceededError, PaymentStoreError } from "./errors.ts";
import type { PaymentStore } from "./store.ts";
import { decimalUsdc } from "./usdc.ts";

/** How long a reservation without a payment is left alone, ms: somebody may be asking a person to sign. */
const ORPHAN_MS = 600_000;
/** Tries of compare-and-set before the store is taken for broken. */
const TRIES = 500;

interface Book {
  /** micro-USD of payments that are over. */
  spent: bigint;
  /** micro-USD of payments under way, by the payment's identifier. */
  reserved: Map<string, { amount: bigint; at: number }>;
}

/** A total that all payments together must not exceed, kept in the store: one for all processes that share it. */
export class Budget {
  readonly #store: PaymentStore;
  readonly #key: string;
  readonly #total: bigint;

  constructor(store: PaymentStore, name: string, total: bigint) {
    this.#store = store;
    this.#key = `budget/${name}`;
    this.#total = total;
  }

  /** micro-USD that are spent or reserved. */
  async used(): Promise<bigint> {
    const stored = await this.#store.get(this.#key);
    return usedIn(read(stored?.value));
  }

  /** Sets an amount aside; a second time for the same payment changes nothing. @throws BudgetExceededError */
  async reserve(paymentId: string, amount: bigint): Promise<void> {
    await this.#change((book) => {
      if (book.reserved.has(paymentId)) return false;
      const remaining = this.#total - usedIn(book);
      if (amount > remaining) {
        const left = remaining > 0n ? remaining : 0n;
        throw new BudgetExceededError(
          amount,
          left,
          `the call costs ${decimalUsdc(amount)} USDC and ${decimalUsdc(left)} USDC of the budget are left; nothing was paid`,
        );
      }
      book.reserved.set(paymentId, { amount, at: Date.now() });
      return true;
    });
  }

  /** What was set aside is spent. */
  async spend(paymentId: string): Promise<void> {
    await this.#change((book) => {
      const reservation = book.reserved.get(paymentId);
      if (!reservation) return false;
      book.spent += reservation.amount;
      return book.reserved.delete(paymentId);
    });
  }

  /** What was set aside will not be spent. */
  async release(paymentId: string): Promise<void> {
    await this.#change((book) => book.reserved.delete(paymentId));
  }

  /** Releases what was set aside long ago for payments that never came to be: their process was killed before it signed. */
  async releaseOrphans(exists: (paymentId: string) => Promise<boolean>): Promise<void> {
    const book = read((await this.#store.get(this.#key))?.value);
    for (const [id, { at }] of book.reserved)
      if (Date.now() - at > ORPHAN_MS && !(await exists(id))) await this.release(id);
  }

  /** @param change @returns whether there is something to write */
  async #change(change: (book: Book) => boolean): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const stored = await this.#store.get(this.#key);
      const book = read(stored?.value);
      if (!change(book)) return;
      if (await this.#store.put(this.#key, write(book), stored?.version)) return;
    }
    throw new PaymentStoreError("the budget could not be written: others write it all the time");
  }
}

function usedIn({ spent, reserved }: Book): bigint {
  return [...reserved.values()].reduce((sum, { amount }) => sum + amount, spent);
}

function write({ spent, reserved }: Book): string {
  const entries = [...reserved].map(
    ([id, { amount, at }]) => [id, { amount: amount.toString(), at }] as const,
  );
  return JSON.stringify({ spent: spent.toString(), reserved: Object.fromEntries(entries) });
}

function read(text: string | undefined): Book {
  if (text === undefined) return { spent: 0n, reserved: new Map() };
  const stored = jsonObject(text);
  const reserved = stored?.["reserved"];
  if (!stored || !isObject(reserved)) throw broken();
  const entries = Object.entries(reserved).map(([id, value]) => {
    const { amount, at } = isObject(value) ? value : {};
    if (typeof at !== "number") throw broken();
    return [id, { amount: amountIn(amount), at }] as const;
  });
  return { spent: amountIn(stored["spent"]), reserved: new Map(entries) };
}

function amountIn(value: unknown): bigint {
  if (typeof value !== "string" || !/^\d{1,20}$/.test(value)) throw broken();
  return BigInt(value);
}

function broken(): PaymentStoreError {
  return new PaymentStoreError("the store's record of the budget cannot be read; nothing is paid without it");
}
