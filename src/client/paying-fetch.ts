import { readRefusal } from "./answer.ts";
import {
  capture,
  headersWith,
  type Capture,
  type CapturedRequest,
  type FetchInput,
} from "./captured-request.ts";
import { payableChallenge, readChallenge } from "./challenge.ts";
import { UnsupportedOfferError, PaymentNotMadeError, PaymentUnsettledError } from "./errors.ts";
import { makePayment } from "./make-payment.ts";
import { readOffer, type Offer } from "./offer.ts";
import type { PaymentRequired } from "./messages.ts";
import { payerOf, type Payer, type PaymentOptions } from "./options.ts";
import { type PaymentRecord, summaryOf } from "./payment-record.ts";
import { repeatCall, type SendCall } from "./repeat-call.ts";
import { pause } from "./pause.ts";
import { RpcError, type SolanaRpc } from "./rpc.ts";

/**
 * A fetch that pays. Everything passes through untouched, but for a 402 of a gateway, or of any server with a
 * challenge of the scheme `Payment`: its offer is checked against the options, paid, and the same request is
 * repeated with the proof, byte for byte. One call is paid for once at most, whatever happens.
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
    const own = refusal?.code === "PAYMENT_REQUIRED" ? refusal.paymentRequired : undefined;
    if (!own && !payableChallenge(response)) {
      captured.discard();
      return response;
    }
    const request = await captured.read();
    checkOrigin(response);
    const offer = offerOf(response, own, request);
    void response.body?.cancel().catch(() => {});
    const signal = signalOf(input, init);
    signal?.throwIfAborted();
    const { record, fresh } = await makePayment(payer, offer, request, signal);
    return settle(payer, record, fresh, sendAgain(payer, captured, request), signal);
  };
}

/** A gateway's own form, unless the caller asks for the scheme `Payment` by Accept-Payment. */
function offerOf(response: Response, own: PaymentRequired | undefined, request: CapturedRequest): Offer {
  const offer = own && readOffer(own, response.headers.get("payment-required"));
  const challenge = payableChallenge(response);
  const isAsked = request.headers.some(([name]) => name.toLowerCase() === "accept-payment");
  if (challenge && (!offer || isAsked)) return readChallenge(challenge, offer, request);
  if (offer) return offer;
  throw new UnsupportedOfferError("the answer has no offer; nothing was paid");
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
    const headers = headersWith(request.headers, added);
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

function optionsOf(input: FetchInput): RequestInit {
  if (!(input instanceof Request)) return {};
  const { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal } = input;
  return { cache, credentials, keepalive, mode, referrer, referrerPolicy, signal };
}

function signalOf(input: FetchInput, init: RequestInit | undefined): AbortSignal | undefined {
  return init?.signal ?? (input instanceof Request ? input.signal : undefined);
}

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 2000;

/** Sends the same transfer until it lands or expires. @throws PaymentNotMadeError, PaymentUnsettledError */
async function landTransfer(
  payer: Payer,
  record: PaymentRecord,
  fresh: boolean,
  signal: AbortSignal | undefined,
): Promise<PaymentRecord> {
  const { rpc } = payer;
  if (!rpc) throw unsettled(record, "an rpcUrl is needed to finish a transfer");
  const deadline = Date.now() + payer.settleTimeoutMs;
  if (fresh) await sendFirst(payer, rpc, record);
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 1.5, LONGEST_PAUSE_MS)) {
    const fate = await fateOf(rpc, record);
    if (fate === "confirmed") return payer.book.move(record, { state: "confirmed", refusal: undefined });
    if (fate !== "open") throw await notMoved(payer, record, fate.reason);
    if (Date.now() > deadline) throw unsettled(record, "the transfer was not confirmed in time");
    await pause(wait, signal);
    // Ignores send errors: the signature status decides.
    await rpc.send(record.transaction, false).catch(() => {});
  }
}

async function sendFirst(payer: Payer, rpc: SolanaRpc, record: PaymentRecord): Promise<void> {
  try {
    await rpc.send(record.transaction, true);
  } catch (error) {
    if (error instanceof RpcError && error.refused) throw await notMoved(payer, record, error.message);
  }
}

async function fateOf(
  rpc: SolanaRpc,
  { txSignature = "", lastValidBlockHeight }: PaymentRecord,
): Promise<"confirmed" | "open" | { reason: string }> {
  try {
    // Read the height first: a transaction that is absent after expiry can never land.
    const expired = lastValidBlockHeight !== undefined && (await rpc.blockHeight()) > lastValidBlockHeight;
    const status = await rpc.statusOf(txSignature);
    if (status === "confirmed") return "confirmed";
    if (status !== "absent") return { reason: `the transfer failed on the chain: ${status.failed}` };
    return expired ? { reason: "the transfer did not reach the chain before its blockhash expired" } : "open";
  } catch {
    return "open";
  }
}

/** No money moved or can move, so the record is deleted. */
async function notMoved(payer: Payer, record: PaymentRecord, reason: string): Promise<PaymentNotMadeError> {
  await payer.budget.release(record.paymentId);
  await payer.book.remove(record.paymentId);
  return new PaymentNotMadeError(`${reason}; nothing was paid, the call can be repeated`, summaryOf(record));
}

function unsettled(record: PaymentRecord, reason: string): PaymentUnsettledError {
  return new PaymentUnsettledError(
    `${reason}; the payment is in the store, finish it with resumePayments`,
    summaryOf(record),
    "sent",
  );
}
