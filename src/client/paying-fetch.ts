import { readRefusal } from "./answer.ts";
import { capture, type Capture, type CapturedRequest, type FetchInput } from "./captured-request.ts";
import { UnsupportedOfferError } from "./errors.ts";
import { landTransfer } from "./land-transfer.ts";
import { makePayment } from "./make-payment.ts";
import { readOffer } from "./offer.ts";
import { payerOf, type Payer, type PaymentOptions } from "./options.ts";
import type { PaymentRecord } from "./payment-record.ts";
import { repeatCall, type SendCall } from "./repeat-call.ts";

/**
 * A fetch that pays. Everything passes through untouched, but for the gateway's own 402: its offer is checked
 * against the options, paid, and the same request is repeated with the proof, byte for byte. One call is paid
 * for once at most, whatever happens.
 *
 * The response is the gateway's own; `paymentOf(response)` returns its cost.
 * @throws TypeError at once for options that are wrong; from the call itself the errors of this package
 * (docs/reference/client.md)
 */
export function payingFetch(options: PaymentOptions): typeof fetch {
  const payer = payerOf(options);
  return async (input, init) => {
    const captured = capture(input, init);
    const response = await payer.fetch(captured.input, captured.init);
    const refusal = await readRefusal(response);
    if (refusal?.code !== "PAYMENT_REQUIRED" || !refusal.paymentRequired) {
      captured.discard();
      return response;
    }
    const request = await captured.read();
    checkOrigin(response);
    const offer = readOffer(refusal.paymentRequired, response.headers.get("payment-required"));
    void response.body?.cancel().catch(() => {});
    const signal = signalOf(input, init);
    signal?.throwIfAborted();
    const { record, fresh } = await makePayment(payer, offer, request, signal);
    return settle(payer, record, fresh, sendAgain(payer, captured, request), signal);
  };
}

/** Completes a payment: waits until it is on the chain, then for the response of its call. */
export async function settle(
  payer: Payer,
  record: PaymentRecord,
  fresh: boolean,
  send: SendCall,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const landed =
    record.method === "transfer" && record.state === "signed"
      ? await landTransfer(payer, record, fresh, signal)
      : record;
  return repeatCall(payer, landed, send, signal);
}

/** A call that was led elsewhere is not paid: neither offer nor proof are for strangers. */
function checkOrigin(response: Response): void {
  if (!response.redirected) return;
  throw new UnsupportedOfferError(
    `the call was redirected to ${response.url}; call that address, if you trust it. Nothing was paid`,
  );
}

/** The original method, URL, headers and body, and the caller's other fetch options. */
function sendAgain(payer: Payer, { input, init }: Capture, request: CapturedRequest): SendCall {
  const { url, method, body } = request;
  return (added) => {
    const headers = new Headers(request.headers.map(([name, value]) => [name, value]));
    for (const [name, value] of Object.entries(added)) headers.set(name, value);
    return payer.fetch(url, {
      ...optionsOf(input),
      ...init,
      method,
      headers,
      body: body ?? null,
      redirect: "manual",
    });
  };
}

/** The fetch options of a Request. */
function optionsOf(input: FetchInput): RequestInit {
  if (!(input instanceof Request)) return {};
  const { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal } = input;
  return { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal };
}

function signalOf(input: FetchInput, init: RequestInit | undefined): AbortSignal | undefined {
  return init?.signal ?? (input instanceof Request ? input.signal : undefined);
}
