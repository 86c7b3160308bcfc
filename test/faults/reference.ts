import { createHash } from "node:crypto";
import type { Call, Reply } from "./client.ts";
import type { Customer } from "./environment.ts";

/** A call answered with its result, with the facts that must hold from then on. */
export interface Sale {
  readonly customer: Customer;
  readonly call: Call;
  /** Undefined for a free call. */
  readonly receiptId: string | undefined;
  /** Micro-USD. */
  readonly debited: bigint;
  /** See {@link digestOf}. */
  readonly digest: string;
}

/** A transfer to the treasury. */
export interface Payment {
  /** Account whose quote the memo names; undefined for none. */
  readonly owner: Customer | undefined;
  /** Micro-USD. */
  readonly amount: bigint;
  /** Monotonic time, ms. */
  readonly sentAt: number;
  /** A response reported it as credited or as paid for a call. */
  reported: boolean;
  /** A response promised its credit after finality. */
  promised: boolean;
  /** The gateway sends it: whether it landed is read from the chain at the end. */
  readonly uncertain: boolean;
  /** A fork removed it from the chain. */
  dropped: boolean;
}

/** What responses reported to an account. Micro-USD. */
export interface Book {
  readonly customer: Customer;
  /** Acknowledged receipts with their debits. */
  readonly receipts: Map<string, bigint>;
  /** Number of unidentifiable calls sent; each may or may not be charged. */
  nameless: number;
}

/** The expected ledger, from on-chain payments and responses alone. */
export class Reference {
  readonly #books = new Map<string, Book>();
  readonly #sales = new Map<string, Sale>();
  readonly payments = new Map<string, Payment>();

  open(customer: Customer): void {
    this.#books.set(customer.accountId, { customer, nameless: 0, receipts: new Map() });
  }

  /** Records a transfer to the treasury. */
  paid(tx: string, amount: bigint, owner: Customer | undefined, sentAt: number): void {
    const state = { sentAt, reported: false, promised: false, dropped: false };
    this.payments.set(tx, { owner, amount, uncertain: false, ...state });
  }

  /** Records a payment that was signed for the gateway to send. It may never land. */
  signed(tx: string, amount: bigint, owner: Customer): void {
    const state = { sentAt: performance.now(), reported: false, promised: false, dropped: false };
    this.payments.set(tx, { owner, amount, uncertain: true, ...state });
  }

  /** Removes a payment that can no longer land. */
  neverLanded(tx: string): void {
    this.payments.delete(tx);
  }

  /** Records a credited payment. */
  toldOf(tx: string): void {
    this.#payment(tx).reported = true;
  }

  /** Records an announced credit. */
  promisedOf(tx: string): void {
    this.#payment(tx).promised = true;
  }

  dropped(tx: string): void {
    this.#payment(tx).dropped = true;
  }

  /** When a payment was sent, monotonic ms. */
  sentAt(tx: string): number {
    return this.#payment(tx).sentAt;
  }

  /** Records a call without key or proof: after a lost response its charge is unknown. */
  sentNameless(customer: Customer): void {
    this.#book(customer).nameless++;
  }

  /**
   * Records a 200 for a key or payment.
   * @returns the difference to an earlier response, if any
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

  /** Every acknowledged receipt. */
  get receipts(): string[] {
    return Array.from(this.#books.values(), ({ receipts }) => [...receipts.keys()]).flat();
  }

  /**
   * Follows the restore of the database to an earlier moment.
   * @param receipts those that it has; the others are forgotten
   * @param accounts those that it has; payments to others have no owner
   */
  restored(receipts: ReadonlySet<string>, accounts: ReadonlySet<string>): void {
    for (const book of this.#books.values())
      for (const id of book.receipts.keys()) if (!receipts.has(id)) book.receipts.delete(id);
    for (const [name, { receiptId = "" }] of this.#sales)
      if (!receipts.has(receiptId)) this.#sales.delete(name);
    for (const [id, { customer }] of this.#books)
      if (customer.apiKey !== undefined && !accounts.has(id)) this.#books.delete(id);
    for (const [tx, payment] of this.payments) {
      const owner = payment.owner && this.#books.get(payment.owner.accountId)?.customer;
      // Credit and reversal of a vanished payment may both be gone.
      const reported = payment.reported && !payment.dropped;
      this.payments.set(tx, { ...payment, owner, reported });
    }
  }

  /** Whether the key or payment got a 200 before. */
  wasSold(customer: Customer, call: Call): boolean {
    return namesOf(customer, call).some((name) => this.#sales.has(name));
  }

  get books(): Iterable<Book> {
    return this.#books.values();
  }

  /** One entry per key and proof. */
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
    if (!payment) throw new Error(`no customer has sent ${tx}`);
    return payment;
  }
}

/** The identity of a call: its key or proof; none for a balance call without a key. */
function namesOf({ accountId }: Customer, { key, proof }: Call): string[] {
  const names = key === undefined ? [] : [`${accountId} key ${key}`];
  return proof ? [...names, `${accountId} proof ${proof.tx}`] : names;
}

/** SHA-256 of a response, ignoring the reversal of its payment, which may change a receipt. */
export function digestOf(text: string): string {
  return createHash("sha256")
    .update(text.replace('"status":"reversed"', '"status":"final"'))
    .digest("base64");
}
