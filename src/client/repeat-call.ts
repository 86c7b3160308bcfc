import { readRefusal, type Refusal } from "./answer.ts";
import { PaymentRefusedError, PaymentUnsettledError, type MoneyIs } from "./errors.ts";
import type { Payer } from "./options.ts";
import { pause } from "./pause.ts";
import { attachPayment, receiptIn, receiptInHeader } from "./payment.ts";
import { proofOf, summaryOf, type PaymentRecord } from "./payment-record.ts";

/** Sends the paid call once, with these headers added and without following redirects. */
export type SendCall = (headers: Readonly<Record<string, string>>) => Promise<Response>;

/** Answers after which the same call with the same proof is worth repeating. */
const PASSING = new Set([
  "PAYMENT_PENDING",
  "UNAVAILABLE",
  "REQUEST_IN_PROGRESS",
  "RATE_LIMITED",
  "INTERNAL",
]);
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/**
 * Repeats a call with its proof until it is answered; never pays.
 * @returns the response, also one that is neither a result nor about the payment
 * @throws PaymentRefusedError, PaymentUnsettledError; the signal's reason when it aborts, with the payment
 * left in the store
 */
export async function repeatCall(
  payer: Payer,
  record: PaymentRecord,
  send: SendCall,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { idempotencyKey } = record;
  const headers = {
    ...proofOf(record),
    ...(idempotencyKey !== undefined && { "Idempotency-Key": idempotencyKey }),
  };
  const deadline = Date.now() + payer.settleTimeoutMs;
  let last = "the gateway was out of reach";
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    let retryAfterMs = wait;
    try {
      const response = await send(headers);
      const refusal = await readRefusal(response);
      const verdict = judge(record, response, refusal);
      if (verdict === "answered") return await finish(payer, record, response);
      if (verdict === "failed") return await fail(payer, record, response, refusal);
      if (verdict === "refused") throw await refuse(payer, record, response, refusal);
      last = refusal ? `${refusal.code}: ${refusal.message}` : `HTTP ${response.status}`;
      retryAfterMs = Math.min((refusal?.retryAfterSeconds ?? 0) * 1000 || wait, LONGEST_PAUSE_MS);
      void response.body?.cancel().catch(() => {});
    } catch (error) {
      if (error instanceof PaymentRefusedError) throw error;
      signal?.throwIfAborted();
      last = error instanceof Error ? error.message : String(error);
    }
    if (Date.now() + retryAfterMs > deadline) throw unsettled(record, last);
    await pause(retryAfterMs, signal);
  }
}

/** `failed`: an answer that is neither a result nor about the payment. */
type Verdict = "answered" | "failed" | "refused" | "passing";

function judge(
  { challenge, method }: PaymentRecord,
  response: Response,
  refusal: Refusal | undefined,
): Verdict {
  if (response.ok) return "answered";
  if (isRedirect(response)) return "refused";
  // No gateway's answer.
  if (refusal?.requestId === undefined && challenge && response.status === 402)
    // The server may not see the transfer on the chain yet.
    return method === "transfer" ? "passing" : "refused";
  if (!refusal || (refusal.requestId === undefined && challenge))
    return response.status >= 500 || response.status === 429 ? "passing" : "failed";
  const { code, retryAfterSeconds } = refusal;
  if (PASSING.has(code)) return "passing";
  // This instance does not see it on the chain yet.
  if (code === "INVALID_PAYMENT") return retryAfterSeconds === undefined ? "refused" : "passing";
  return code === "QUOTE_EXPIRED" || code === "PAYMENT_REQUIRED" ? "refused" : "failed";
}

/** A status of 3xx, or the browser's opaque redirect (Fetch, `redirect: "manual"`). */
function isRedirect({ type, status }: Response): boolean {
  return type === "opaqueredirect" || (status >= 300 && status < 400);
}

/** The call was answered: removes the payment from the store after the whole response has arrived. */
async function finish(payer: Payer, record: PaymentRecord, response: Response): Promise<Response> {
  const close = async (text: string): Promise<void> => {
    const receipt = receiptIn(text) ?? receiptInHeader(response);
    const payment = { ...summaryOf(record), receipt };
    attachPayment(response, payment);
    await payer.budget.spend(record.paymentId);
    await payer.book.finish(record);
    // The caller's use of it does not affect the call.
    queueMicrotask(() => payer.onPayment?.(payment));
  };
  const copy = response.clone();
  if (!(response.headers.get("content-type") ?? "").includes("event-stream")) {
    await close(await copy.text());
    return response;
  }
  // A stream is passed on in chunks. If it breaks off, the payment stays in the store, and resumePayments
  // gets the rest.
  attachPayment(response, { ...summaryOf(record), receipt: undefined });
  void copy
    .text()
    .then((text) => (isPassing(text) ? undefined : close(lastData(text))))
    .catch(() => {});
  return response;
}

/** The last event of a stream (HTML Standard, server-sent events), without the end mark of the OpenAI API. */
function lastData(stream: string): string {
  return (
    stream
      .split(/\r?\n/)
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice("data:".length).trim())
      .findLast((line) => line !== "" && line !== "[DONE]") ?? ""
  );
}

/** Whether a stream ends in an error that passes. */
function isPassing(stream: string): boolean {
  const end = lastData(stream);
  return end === "" || [...PASSING].some((code) => end.includes(`"error"`) && end.includes(`"${code}"`));
}

/** Responses that do not concern the payment: another key can still succeed. */
const KEY_IS_WRONG = new Set(["UNAUTHORIZED", "FORBIDDEN"]);

/**
 * The caller reads the response. The payment stays in the store as evidence, unless the tool failed: then it
 * is on the balance. Responses that are not the gateway's own, and those about the API key, end no payment:
 * it can be finished later.
 */
async function fail(
  payer: Payer,
  record: PaymentRecord,
  response: Response,
  refusal: Refusal | undefined,
): Promise<Response> {
  attachPayment(response, { ...summaryOf(record), receipt: undefined });
  if (!refusal || KEY_IS_WRONG.has(refusal.code)) return response;
  await payer.budget.spend(record.paymentId);
  const { code, message } = refusal;
  if (code === "TOOL_FAILED") {
    await payer.book.remove(record.paymentId);
    return response;
  }
  await payer.book.move(record, { state: "refused", refusal: { code, message, money: moneyOf(record) } });
  return response;
}

async function refuse(
  payer: Payer,
  record: PaymentRecord,
  response: Response,
  refusal: Refusal | undefined,
): Promise<PaymentRefusedError> {
  const code = refusal?.code ?? (response.status === 402 ? "PAYMENT_REQUIRED" : "REDIRECTED");
  const said =
    refusal?.message ??
    (response.status === 402
      ? "the server asks for another payment"
      : "the gateway redirected the paid call; the proof was not sent there");
  const money = moneyOf(record);
  const message = `${said} (${whereItIs(record, money)}; the call was not paid a second time)`;
  void response.body?.cancel().catch(() => {});
  await payer.budget.spend(record.paymentId);
  await payer.book.move(record, { state: "refused", refusal: { code, message, money } });
  return new PaymentRefusedError(code, message, summaryOf(record), money);
}

function moneyOf({ method }: PaymentRecord): MoneyIs {
  return method === "transfer" ? "received" : "signed";
}

function whereItIs({ txSignature, payTo }: PaymentRecord, money: MoneyIs): string {
  return money === "received"
    ? `the transfer ${txSignature} to ${payTo} is on the chain`
    : "the gateway holds the signed transaction, which can be sent until its blockhash expires, 60 to " +
        "90 seconds after it was signed";
}

function unsettled(record: PaymentRecord, last: string): PaymentUnsettledError {
  return new PaymentUnsettledError(
    `the paid call has no answer yet: ${last}; complete it with resumePayments; a new call could pay twice`,
    summaryOf(record),
    moneyOf(record),
  );
}
