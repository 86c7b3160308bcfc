import { PRICE } from "./calls.ts";

/** How a quote is paid. */
export const PAYMENTS = ["exactly", "too much", "too little", "too late", "with a wrong memo"] as const;
export type PaymentKind = (typeof PAYMENTS)[number];

/** A transfer to the treasury. */
export interface Paid {
  readonly tx: string;
  readonly quoteId: string;
  readonly kind: PaymentKind;
  /** Micro-USD. */
  readonly amount: bigint;
}

/** A call under a key, with a proof or without. */
export interface Sent {
  readonly key: string;
  readonly paid?: Paid | undefined;
}

/** What one customer must be told and have, by the rules alone: no instances, no crashes, no time. */
export class Reference {
  balance = 0n;
  readonly sold = new Set<string>();
  readonly #credited = new Set<string>();

  /** @returns what the call must be answered with: 200, or the code of a 402 */
  send({ key, paid }: Sent): "200" | "PAYMENT_REQUIRED" | "INVALID_PAYMENT" | "QUOTE_EXPIRED" {
    if (paid) this.#credit(paid);
    if (this.sold.has(key)) return "200";
    if (paid?.kind === "too late") return "QUOTE_EXPIRED";
    if (paid?.kind === "too little" || paid?.kind === "with a wrong memo") return "INVALID_PAYMENT";
    if (this.balance < PRICE) return "PAYMENT_REQUIRED";
    this.balance -= PRICE;
    this.sold.add(key);
    return "200";
  }

  /** What names our quote is its account's, once. */
  #credit({ tx, kind, amount }: Paid): void {
    if (kind === "with a wrong memo" || this.#credited.has(tx)) return;
    this.#credited.add(tx);
    this.balance += amount;
  }
}
