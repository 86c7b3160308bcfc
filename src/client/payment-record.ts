import { fromBase64, isObject, jsonObject, toBase64, toBase64Url } from "./bytes.ts";
import { idempotencyKeyOf, type CapturedRequest } from "./captured-request.ts";
import { PaymentStoreError, type MoneyIs, type PaymentSummary } from "./errors.ts";
import type { PaymentStore } from "./store.ts";

/**
 * State of a payment.
 * - `signed`: it may have been sent.
 * - `confirmed`: a transfer is on the chain; repeat the call with its proof.
 * - `answered`: finished; kept for a while if the call has a key, because another call with that key may hold
 * an offer.
 * - `refused`: finished; kept as evidence until deleted explicitly.
 */
export type PaymentState = "signed" | "confirmed" | "answered" | "refused";

/** A payment from the moment it is signed to the answer of its call. */
export interface PaymentRecord extends PaymentSummary {
  readonly state: PaymentState;
  /** ISO 8601 */
  readonly createdAt: string;
  /** The call that it pays, without its secrets. */
  readonly request: CapturedRequest;
  /** SHA-256 over method, URL, body and idempotency key. */
  readonly fingerprint: string;
  /** Sent with the repeated call if the caller sent none. */
  readonly idempotencyKey: string | undefined;
  /** The signed transaction in wire form. */
  readonly transaction: Uint8Array<ArrayBuffer>;
  /** From this block height on it cannot land any more. */
  readonly lastValidBlockHeight: bigint | undefined;
  /** The x402 offer that a wallet without an API key accepted. */
  readonly accepted: Readonly<Record<string, unknown>> | undefined;
  /** The challenge of the scheme `Payment` that it answers. */
  readonly challenge: Readonly<Record<string, unknown>> | undefined;
  /** Why it was refused, and where the money is. */
  readonly refusal: { readonly code: string; readonly message: string; readonly money: MoneyIs } | undefined;
}

const PREFIX = "payment/";
/** How long an answered payment is kept, ms: longer than any call holds an offer before it is paid. */
const KEEP_MS = 600_000;

/** Reads and writes payments; each holds the version that it last saw. */
export class PaymentBook {
  readonly #store: PaymentStore;
  /** Payments that were answered here and are kept for a while, oldest first. */
  readonly #kept: { readonly paymentId: string; readonly since: number }[] = [];

  constructor(store: PaymentStore) {
    this.#store = store;
  }

  /** @returns false when there is one of this identifier */
  add(record: PaymentRecord): Promise<boolean> {
    return this.#store.put(PREFIX + record.paymentId, write(record), undefined);
  }

  async get(paymentId: string): Promise<PaymentRecord | undefined> {
    const stored = await this.#store.get(PREFIX + paymentId);
    return stored && read(stored.value);
  }

  /** The same payment in a later state. Succeeds also if another process has moved or finished it. */
  async move(
    record: PaymentRecord,
    change: Pick<PaymentRecord, "state" | "refusal">,
  ): Promise<PaymentRecord> {
    const key = PREFIX + record.paymentId;
    const stored = await this.#store.get(key);
    const moved = { ...record, ...change };
    if (stored) await this.#store.put(key, write(moved), stored.version);
    return moved;
  }

  /** The call was answered. */
  async finish(record: PaymentRecord): Promise<void> {
    if (idempotencyKeyOf(record.request) === undefined) return this.remove(record.paymentId);
    await this.move(record, { state: "answered", refusal: undefined });
    this.#kept.push({ paymentId: record.paymentId, since: Date.now() });
    while (this.#kept[0] && this.#kept[0].since < Date.now() - KEEP_MS)
      await this.remove(this.#kept.shift()?.paymentId ?? "");
  }

  /** Removes old answered payments that their processes did not remove. */
  async sweep(): Promise<void> {
    for (const { state, createdAt, paymentId } of await this.list())
      if (state === "answered" && Date.parse(createdAt) < Date.now() - 2 * KEEP_MS)
        await this.remove(paymentId);
  }

  async remove(paymentId: string): Promise<void> {
    const stored = await this.#store.get(PREFIX + paymentId);
    if (stored) await this.#store.delete(PREFIX + paymentId, stored.version);
  }

  /** All payments, oldest first. */
  async list(): Promise<PaymentRecord[]> {
    const keys = await this.#store.list(PREFIX);
    const records = await Promise.all(keys.map((key) => this.get(key.slice(PREFIX.length))));
    return records
      .filter((record) => record !== undefined)
      .sort((one, other) => one.createdAt.localeCompare(other.createdAt));
  }
}

/** Returns the public summary of a payment. */
export function summaryOf(record: PaymentRecord): PaymentSummary {
  const { paymentId, quoteId, tool, amount, method, payTo, txSignature } = record;
  return { paymentId, quoteId, tool, amount, method, payTo, txSignature };
}

/**
 * The payment header: X-Payment (specification 2.4), without an API key PAYMENT-SIGNATURE (x402 v2), or the
 * answer to a challenge (draft-httpauth-payment).
 */
export function proofOf(record: PaymentRecord): Record<string, string> {
  const { method, txSignature, transaction, quoteId, accepted, challenge } = record;
  if (challenge) {
    const payload =
      method === "transfer"
        ? { type: "signature", signature: txSignature }
        : { type: "transaction", transaction: toBase64(transaction) };
    return { Authorization: `Payment ${encoded({ challenge, payload })}` };
  }
  if (accepted) {
    const payload = { x402Version: 2, accepted, payload: { transaction: toBase64(transaction) } };
    return { "PAYMENT-SIGNATURE": toBase64(new TextEncoder().encode(JSON.stringify(payload))) };
  }
  const proof =
    method === "transfer"
      ? { tx: txSignature, quote_id: quoteId }
      : { transaction: toBase64(transaction), quote_id: quoteId };
  return { "X-Payment": encoded(proof) };
}

function encoded(value: object): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify(value)));
}

function write(record: PaymentRecord): string {
  const { request, transaction, amount, lastValidBlockHeight } = record;
  return JSON.stringify({
    ...record,
    amount: amount.toString(),
    lastValidBlockHeight: lastValidBlockHeight?.toString(),
    transaction: toBase64(transaction),
    request: { ...request, body: request.body && toBase64(request.body) },
  });
}

function read(text: string): PaymentRecord {
  const stored = jsonObject(text) ?? {};
  const request = isObject(stored["request"]) ? stored["request"] : {};
  const method = stored["method"];
  const state = stored["state"];
  const refusal = stored["refusal"];
  if (method !== "gasless" && method !== "transfer") throw broken("method");
  if (state !== "signed" && state !== "confirmed" && state !== "answered" && state !== "refused")
    throw broken("state");
  return {
    paymentId: textIn(stored, "paymentId"),
    quoteId: textIn(stored, "quoteId"),
    tool: textIn(stored, "tool"),
    amount: integerIn(stored, "amount"),
    method,
    state,
    payTo: textIn(stored, "payTo"),
    txSignature: stored["txSignature"] === undefined ? undefined : textIn(stored, "txSignature"),
    createdAt: textIn(stored, "createdAt"),
    fingerprint: textIn(stored, "fingerprint"),
    idempotencyKey: stored["idempotencyKey"] === undefined ? undefined : textIn(stored, "idempotencyKey"),
    transaction: bytesIn(stored, "transaction"),
    lastValidBlockHeight:
      stored["lastValidBlockHeight"] === undefined ? undefined : integerIn(stored, "lastValidBlockHeight"),
    request: {
      url: textIn(request, "url"),
      method: textIn(request, "method"),
      headers: headersIn(request["headers"]),
      body: request["body"] === undefined ? undefined : bytesIn(request, "body"),
    },
    accepted: isObject(stored["accepted"]) ? stored["accepted"] : undefined,
    challenge: isObject(stored["challenge"]) ? stored["challenge"] : undefined,
    refusal: isObject(refusal)
      ? {
          code: textIn(refusal, "code"),
          message: textIn(refusal, "message"),
          money: moneyIn(refusal["money"]),
        }
      : undefined,
  };
}

function textIn(members: Record<string, unknown>, name: string): string {
  const value = members[name];
  if (typeof value !== "string") throw broken(name);
  return value;
}

function integerIn(members: Record<string, unknown>, name: string): bigint {
  const text = textIn(members, name);
  if (!/^\d{1,20}$/.test(text)) throw broken(name);
  return BigInt(text);
}

function bytesIn(members: Record<string, unknown>, name: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(textIn(members, name));
  if (!bytes) throw broken(name);
  return bytes;
}

function headersIn(value: unknown): [string, string][] {
  if (!Array.isArray(value)) throw broken("request.headers");
  return value.map((pair: unknown) => {
    const members: readonly unknown[] = Array.isArray(pair) ? pair : [];
    const [name, text] = members;
    if (typeof name !== "string" || typeof text !== "string") throw broken("request.headers");
    return [name, text];
  });
}

function moneyIn(value: unknown): MoneyIs {
  if (value === "not_moved" || value === "signed" || value === "sent" || value === "received") return value;
  throw broken("refusal.money");
}

function broken(name: string): PaymentStoreError {
  return new PaymentStoreError(`the store holds a payment that cannot be read: ${name}`);
}
