import { isObject, jsonObject } from "./bytes.ts";
import { BudgetExceededError, PaymentStoreError } from "./errors.ts";
import type { PaymentStore } from "./store.ts";
import { decimalUsdc } from "./usdc.ts";

/** Lifetime of a reservation without a payment, ms: a person may have to approve the signature. */
const ORPHAN_MS = 600_000;
/** Compare-and-set attempts before PaymentStoreError. */
const TRIES = 500;

interface Book {
  /** Completed payments, micro-USD. */
  spent: bigint;
  /** Pending payments, micro-USD, by payment identifier. */
  reserved: Map<string, { amount: bigint; at: number }>;
}

/** A spending limit in the store, shared by all processes that use the store. */
export class Budget {
  readonly #store: PaymentStore;
  readonly #key: string;
  readonly #total: bigint;

  constructor(store: PaymentStore, name: string, total: bigint) {
    this.#store = store;
    this.#key = `budget/${name}`;
    this.#total = total;
  }

  /** Returns the amount spent or reserved, micro-USD. */
  async used(): Promise<bigint> {
    const stored = await this.#store.get(this.#key);
    return usedIn(read(stored?.value));
  }

  /** Reserves an amount. Idempotent per payment. @throws BudgetExceededError */
  async reserve(paymentId: string, amount: bigint): Promise<void> {
    await this.#change((book) => {
      if (book.reserved.has(paymentId)) return false;
      const remaining = this.#total - usedIn(book);
      if (amount > remaining) {
        const left = remaining > 0n ? remaining : 0n;
        throw new BudgetExceededError(
          amount,
          left,
          `the call costs ${decimalUsdc(amount)} USDC and ${decimalUsdc(left)} USDC of the budget are ` +
            "left; nothing was paid",
        );
      }
      book.reserved.set(paymentId, { amount, at: Date.now() });
      return true;
    });
  }

  async spend(paymentId: string): Promise<void> {
    await this.#change((book) => {
      const reservation = book.reserved.get(paymentId);
      if (!reservation) return false;
      book.spent += reservation.amount;
      return book.reserved.delete(paymentId);
    });
  }

  async release(paymentId: string): Promise<void> {
    await this.#change((book) => book.reserved.delete(paymentId));
  }

  /** Releases old reservations without a payment: their process died before it signed. */
  async releaseOrphans(exists: (paymentId: string) => Promise<boolean>): Promise<void> {
    const book = read((await this.#store.get(this.#key))?.value);
    for (const [id, { at }] of book.reserved)
      if (Date.now() - at > ORPHAN_MS && !(await exists(id))) await this.release(id);
  }

  /** @param change returns whether to write */
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
