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

/** A call under a key, with or without a proof. */
export interface Sent {
  readonly key: string;
  readonly paid?: Paid | undefined;
}

/** The expected responses and balance of one customer, by the rules alone. */
export class Reference {
  balance = 0n;
  readonly sold = new Set<string>();
  readonly #credited = new Set<string>();

  /** @returns the expected response: 200 or an error code */
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

  /** A payment that names the quote is credited to its account once. */
  #credit({ tx, kind, amount }: Paid): void {
    if (kind === "with a wrong memo" || this.#credited.has(tx)) return;
    this.#credited.add(tx);
    this.balance += amount;
  }
}
