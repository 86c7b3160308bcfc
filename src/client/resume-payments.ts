import { headersWith } from "./captured-request.ts";
import { ToolgateClientError, type PaymentSummary } from "./errors.ts";
import { payerOf, type PaymentOptions } from "./options.ts";
import { paymentOf, type Payment } from "./payment.ts";
import { PaymentBook, summaryOf, type PaymentRecord } from "./payment-record.ts";
import { settle } from "./paying-fetch.ts";

/** Options of finishing payments: those they were made with. */
export interface ResumeOptions extends PaymentOptions {
  readonly store: NonNullable<PaymentOptions["store"]>;
  /** Secret headers, which the store does not have: `Authorization`, by the URL of the call. */
  readonly headers: Readonly<Record<string, string>> | ((url: string) => Readonly<Record<string, string>>);
  readonly signal?: AbortSignal;
}

/** Outcome of a payment that was left behind. */
export interface Resumed {
  readonly payment: PaymentSummary | Payment;
  readonly request: { readonly url: string; readonly method: string; readonly body: Uint8Array | undefined };
  /** The answer of its call; undefined when there is none. */
  readonly response: Response | undefined;
  /** Why there is none. `PaymentUnsettledError`: it is still in the store. */
  readonly error: Error | undefined;
}

/**
 * Finishes every payment that a killed process or an aborted call left in the store: sends the stored bytes
 * if needed and repeats each call with its proof. Makes no new payment. Run it at the start, before the
 * first call.
 * @returns one entry for each payment, oldest first; without payments that were refused before
 * (`listPayments`)
 */
export async function resumePayments(options: ResumeOptions): Promise<Resumed[]> {
  const payer = payerOf(options);
  await payer.book.sweep();
  const records = await payer.book.list();
  await payer.budget.releaseOrphans(async (id) => (await payer.book.get(id)) !== undefined);
  const resumed: Resumed[] = [];
  for (const { paymentId } of records) {
    // Another process may have finished it in the meantime.
    const record = await payer.book.get(paymentId);
    if (!record || record.state === "refused" || record.state === "answered") continue;
    options.signal?.throwIfAborted();
    resumed.push(await resume(record));
  }
  return resumed;

  async function resume(record: PaymentRecord): Promise<Resumed> {
    const { url, method, body } = record.request;
    const request = { url, method, body };
    const secret = typeof options.headers === "function" ? options.headers(url) : options.headers;
    const send = (added: Readonly<Record<string, string>>): Promise<Response> => {
      const headers = headersWith([...headersWith(record.request.headers, secret)], added);
      const signal = options.signal && { signal: options.signal };
      return payer.fetch(url, { method, headers, body: body ?? null, redirect: "manual", ...signal });
    };
    try {
      await payer.budget.reserve(record.paymentId, record.amount).catch(overBudget);
      const response = await settle(payer, record, false, send, options.signal);
      return { payment: paymentOf(response) ?? summaryOf(record), request, response, error: undefined };
    } catch (error) {
      if (!(error instanceof ToolgateClientError)) throw error;
      return { payment: summaryOf(record), request, response: undefined, error };
    }
  }
}

/** A signed payment counts, whatever the budget allows now. */
function overBudget(error: unknown): void {
  if (!(error instanceof ToolgateClientError)) throw error;
}

/** Payments in the store without a response, oldest first; refused ones with the reason. */
export async function listPayments(
  store: NonNullable<PaymentOptions["store"]>,
): Promise<(PaymentSummary & Pick<PaymentRecord, "state" | "createdAt" | "refusal">)[]> {
  const records = await new PaymentBook(store).list();
  return records
    .filter(({ state }) => state !== "answered")
    .map((record) => ({
      ...summaryOf(record),
      state: record.state,
      createdAt: record.createdAt,
      refusal: record.refusal,
    }));
}
