import { createHash } from "node:crypto";
import type { Call, Reply } from "./client.ts";
import type { Customer } from "./ground.ts";

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
  owner: Customer | undefined;
  /** Micro-USD. */
  readonly amount: bigint;
  /** A response reported it as credited or as paid for a call. */
  credited: boolean;
  /** A response promised its credit after finality. */
  promised: boolean;
  /** The gateway sends it: whether it landed is read from the chain at the end. */
  readonly uncertain: boolean;
  /** A fork removed it from the chain. */
  dropped: boolean;
}

/** What responses reported to an account. */
export interface Expected {
  readonly customer: Customer;
  /** Acknowledged receipts with their debits, micro-USD. */
  readonly receipts: Map<string, bigint>;
  /** Number of unidentifiable calls sent; each may or may not be charged. */
  nameless: number;
}

/** The expected ledger, from on-chain payments and responses alone. */
export class Reference {
  readonly #accounts = new Map<string, Expected>();
  readonly #sales = new Map<string, Sale>();
  readonly payments = new Map<string, Payment>();

  open(customer: Customer): void {
    this.#accounts.set(customer.accountId, { customer, nameless: 0, receipts: new Map() });
  }

  /** Records a transfer to the treasury. @param uncertain the gateway sends it: it may never land */
  paid(tx: string, amount: bigint, owner: Customer | undefined, uncertain = false): void {
    this.payments.set(tx, { owner, amount, uncertain, credited: false, promised: false, dropped: false });
  }

  payment(tx: string): Payment {
    const payment = this.payments.get(tx);
    if (!payment) throw new Error(`no customer has sent ${tx}`);
    return payment;
  }

  /** What is expected of an account. */
  of({ accountId }: Customer): Expected {
    const account = this.#accounts.get(accountId);
    if (!account) throw new Error(`${accountId} was not opened`);
    return account;
  }

  /**
   * Records a 200 for a key or payment.
   * @returns the difference to an earlier response, if any
   */
  sold(customer: Customer, call: Call, reply: Reply): object | undefined {
    const { receipt } = reply.body;
    const debited = BigInt(receipt?.debited_usdc_microusd ?? 0);
    const sale = { customer, call, receiptId: receipt?.receipt_id, debited, digest: digestOf(reply.text) };
    if (receipt) this.of(customer).receipts.set(receipt.receipt_id, debited);
    for (const name of namesOf(customer, call)) {
      const earlier = this.#sales.get(name);
      if (earlier && earlier.digest !== sale.digest)
        return { name, earlier: earlier.receiptId, now: reply.body };
      this.#sales.set(name, earlier ?? sale);
    }
    return undefined;
  }

  /** Whether the key or payment got a 200 before. */
  wasSold(customer: Customer, call: Call): boolean {
    return namesOf(customer, call).some((name) => this.#sales.has(name));
  }

  /**
   * Follows the restore of the database to an earlier time.
   * @param receipts those that it has; the others are removed
   * @param accounts those that it has; payments to others have no owner
   */
  restored(receipts: ReadonlySet<string>, accounts: ReadonlySet<string>): void {
    for (const account of this.accounts)
      for (const id of account.receipts.keys()) if (!receipts.has(id)) account.receipts.delete(id);
    for (const [name, { receiptId = "" }] of this.#sales)
      if (!receipts.has(receiptId)) this.#sales.delete(name);
    for (const [id, { customer }] of this.#accounts)
      if (customer.apiKey !== undefined && !accounts.has(id)) this.#accounts.delete(id);
    for (const payment of this.payments.values()) {
      if (payment.owner && !this.#accounts.has(payment.owner.accountId)) payment.owner = undefined;
      // Credit and reversal of a vanished payment may both be gone.
      payment.credited &&= !payment.dropped;
    }
  }

  get accounts(): Iterable<Expected> {
    return this.#accounts.values();
  }

  /** Every acknowledged receipt. */
  get receipts(): string[] {
    return Array.from(this.accounts, ({ receipts }) => [...receipts.keys()]).flat();
  }

  /** One entry per key and proof. */
  get sales(): readonly Sale[] {
    return [...this.#sales.values()];
  }
}

/** The identity of a call: its key or proof; none for a balance call without a key. */
function namesOf({ accountId }: Customer, { key, proof }: Call): string[] {
  const names = key === undefined ? [] : [`${accountId} key ${key}`];
  return proof ? [...names, `${accountId} proof ${proof.tx}`] : names;
}

/** SHA-256 of a response, ignoring the reversal of its payment, which may change a receipt. */
export function digestOf(text: string): string {
  const same = text.replace('"status":"reversed"', '"status":"final"');
  return createHash("sha256").update(same).digest("base64");
}
