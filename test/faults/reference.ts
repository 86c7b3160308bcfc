import { createHash } from "node:crypto";
import type { Call, Reply } from "./client.ts";
import type { Customer } from "./environment.ts";

/** A call that was answered with its result: what must be true from then on. */
export interface Sale {
  readonly customer: Customer;
  readonly call: Call;
  /** Undefined: the call was free. */
  readonly receiptId: string | undefined;
  /** Micro-USD. */
  readonly debited: bigint;
  /** See {@link digestOf}. */
  readonly digest: string;
}

/** A transfer to the treasury. */
export interface Payment {
  /** Whose quote its memo names; undefined: nobody's. */
  readonly owner: Customer | undefined;
  /** Micro-USD. */
  readonly amount: bigint;
  /** When, ms of the monotonic clock. */
  readonly sentAt: number;
  /** An answer has said that it is on the balance, or has paid for a call. */
  told: boolean;
  /** An answer has said that it will be on the balance, once it is final. */
  promised: boolean;
  /** A fork has taken it off the chain. */
  dropped: boolean;
}

/** What an account was told. Money in micro-USD. */
export interface Book {
  readonly customer: Customer;
  /** Its acknowledged receipts, with what they debited. */
  readonly receipts: Map<string, bigint>;
  /** How many calls were sent that are known by nothing: each was charged, or was not. */
  nameless: number;
}

/**
 * What the ledger must come to, by what was paid on the chain and what was answered alone: it knows nothing of runs, holds, claims
 * and instances.
 */
export class Reference {
  readonly #books = new Map<string, Book>();
  readonly #sales = new Map<string, Sale>();
  readonly payments = new Map<string, Payment>();

  open(customer: Customer): void {
    this.#books.set(customer.accountId, { customer, nameless: 0, receipts: new Map() });
  }

  /** A transfer was sent to the treasury. */
  paid(tx: string, amount: bigint, owner: Customer | undefined, sentAt: number): void {
    this.payments.set(tx, { owner, amount, sentAt, told: false, promised: false, dropped: false });
  }

  /** An answer has told that a payment is credited. */
  toldOf(tx: string): void {
    this.#payment(tx).told = true;
  }

  /** An answer has told that a payment will be credited. */
  promisedOf(tx: string): void {
    this.#payment(tx).promised = true;
  }

  dropped(tx: string): void {
    this.#payment(tx).dropped = true;
  }

  /** When a payment was sent, ms of the monotonic clock. */
  sentAt(tx: string): number {
    return this.#payment(tx).sentAt;
  }

  /** A call is sent that is known by nothing: if its answer is lost, nobody knows whether it was charged. */
  sentNameless(customer: Customer): void {
    this.#book(customer).nameless++;
  }

  /**
   * A call was answered with 200 under a name of its own: its key, or its payment.
   * @returns what is wrong with that, if it was answered otherwise before
   */
  sold(customer: Customer, call: Call, reply: Reply): object | undefined {
    const { receipt } = reply.body;
    const debited = BigInt(receipt?.debited_usdc_microusd ?? 0);
    const sale = { customer, call, receiptId: receipt?.receipt_id, debited, digest: digestOf(reply.text) };
    if (receipt) this.#book(customer).receipts.set(receipt.receipt_id, debited);
    for (const name of namesOf(customer, call)) {
      const earlier = this.#sales.get(name);
      if (earlier && earlier.digest !== sale.digest)
        return { name, earlier: earlier.receiptId, now: reply.body };
      this.#sales.set(name, earlier ?? sale);
    }
    return undefined;
  }

  /** Whether the call was answered with 200 before, under its key or its payment. */
  wasSold(customer: Customer, call: Call): boolean {
    return namesOf(customer, call).some((name) => this.#sales.has(name));
  }

  get books(): Iterable<Book> {
    return this.#books.values();
  }

  /** One for each key and each proof. */
  get sales(): Iterable<Sale> {
    return this.#sales.values();
  }

  get saleCount(): number {
    return this.#sales.size;
  }

  #book(customer: Customer): Book {
    const book = this.#books.get(customer.accountId);
    if (!book) throw new Error(`no book was opened for ${customer.accountId}`);
    return book;
  }

  #payment(tx: string): Payment {
    const payment = this.payments.get(tx);
    if (!payment) throw new Error(`nobody has sent ${tx}`);
    return payment;
  }
}

/** What a call is known by. A call from the balance without a key is known by nothing. */
function namesOf({ accountId }: Customer, { key, proof }: Call): string[] {
  const names = key === undefined ? [] : [`${accountId} key ${key}`];
  return proof ? [...names, `${accountId} proof ${proof.tx}`] : names;
}

/** SHA-256 of an answer. That its payment was taken back later is the one thing that a receipt may tell anew. */
export function digestOf(text: string): string {
  return createHash("sha256")
    .update(text.replace('"status":"reversed"', '"status":"final"'))
    .digest("base64");
}
