import { toBase58 } from "./base58.ts";
import { fromBase64, jsonObject, sha256Hex, toBase64 } from "./bytes.ts";
import {
  idempotencyKeyOf,
  takesIdempotencyKey,
  toolOf,
  withoutSecrets,
  type CapturedRequest,
} from "./captured-request.ts";
import {
  PaymentNotMadeError,
  PaymentRefusedError,
  PriceTooHighError,
  UnsupportedOfferError,
} from "./errors.ts";
import { gaslessMemo, USDC_MINT, type GaslessOffer, type Offer } from "./offer.ts";
import type { Payer } from "./options.ts";
import { summaryOf, type PaymentRecord } from "./payment-record.ts";
import { addressOf, signWith } from "./signer.ts";
import { buildPayment, encodeTransaction, readMessage } from "./transaction.ts";
import { decimalUsdc } from "./usdc.ts";

/**
 * Checks an offer against the caller's limits, makes its payment and stores it, unsent; or returns the one of
 * the idempotency key. @throws PriceTooHighError, BudgetExceededError, UnsupportedOfferError,
 * PaymentNotMadeError; PaymentRefusedError if the stored payment was refused
 */
export async function makePayment(
  payer: Payer,
  offer: Offer,
  request: CapturedRequest,
  signal: AbortSignal | undefined,
): Promise<{ record: PaymentRecord; fresh: boolean }> {
  const key = idempotencyKeyOf(request);
  const { origin } = new URL(request.url);
  const fingerprint = await fingerprintOf(request, key);
  const paymentId = key === undefined ? crypto.randomUUID() : await sha256Hex(`${origin}\n${key}`);
  const before = await payer.book.get(paymentId);
  if (before) return { record: usable(before, fingerprint), fresh: false };
  checkTerms(payer, offer, request);
  await payer.budget.reserve(paymentId, offer.price);
  try {
    const signed = await sign(payer, offer, request, signal);
    const record: PaymentRecord = {
      paymentId,
      ...signed,
      quoteId: offer.quoteId,
      tool: offer.tool,
      amount: offer.price,
      payTo: offer.payTo,
      state: "signed",
      createdAt: new Date().toISOString(),
      request: withoutSecrets(request),
      fingerprint,
      challenge: offer.challenge,
      idempotencyKey: takesIdempotencyKey(request) ? `pay_${paymentId}` : undefined,
      refusal: undefined,
    };
    // The reservation may have expired while a person approved the signature.
    await payer.budget.reserve(paymentId, offer.price);
    signal?.throwIfAborted();
    if (await payer.book.add(record)) return { record, fresh: true };
    // A concurrent call with the same key paid first. Discard this transaction unsent.
    const faster = await payer.book.get(paymentId);
    if (!faster)
      throw new PaymentNotMadeError(
        "the same call was just paid for and answered; repeat it, it costs nothing more",
      );
    return { record: usable(faster, fingerprint), fresh: false };
  } catch (error) {
    if (!(await payer.book.get(paymentId))) await payer.budget.release(paymentId);
    throw error;
  }
}

/** SHA-256 that identifies a call. */
function fingerprintOf({ method, url, body }: CapturedRequest, key: string | undefined): Promise<string> {
  return sha256Hex(JSON.stringify([method, url, body ? toBase64(body) : null, key ?? null]));
}

function usable(record: PaymentRecord, fingerprint: string): PaymentRecord {
  if (record.fingerprint !== fingerprint)
    throw new PaymentNotMadeError("the idempotency key was paid for with another call; use a key once");
  const { refusal } = record;
  if (!refusal) return record;
  throw new PaymentRefusedError(
    refusal.code,
    `a payment for this idempotency key was refused before: ${refusal.message}`,
    summaryOf(record),
    refusal.money,
  );
}

function isSameUrl(one: string, other: string): boolean {
  const known = (url: string) => URL.canParse(url) && new URL(url).href.replace("//localhost", "//127.0.0.1");
  return known(one) !== false && known(one) === known(other);
}

function checkTerms(payer: Payer, offer: Offer, request: CapturedRequest): void {
  const { price, payTo, rpcUrl } = offer;
  const tool = toolOf(request);
  if (tool !== undefined && tool !== offer.tool)
    throw new UnsupportedOfferError(`quote.tool: is ${offer.tool}, called was ${tool}; nothing was paid`);
  if (price > payer.maxPrice) {
    throw new PriceTooHighError(
      price,
      payer.maxPrice,
      `the call costs ${decimalUsdc(price)} USDC, maxPrice is ${decimalUsdc(payer.maxPrice)} USDC; ` +
        "nothing was paid",
    );
  }
  if (rpcUrl !== undefined && payer.rpc && !isSameUrl(payer.rpc.url, rpcUrl))
    throw new UnsupportedOfferError(
      `payment_instructions.rpc_url: is ${rpcUrl}, and rpcUrl is another chain's; nothing was paid`,
    );
  if (payer.treasury && !payer.treasury.has(payTo))
    throw new UnsupportedOfferError(
      `payment_instructions.pay_to: is ${payTo}, which is not the expected treasury; nothing was paid`,
    );
}

type Signed = Pick<
  PaymentRecord,
  "method" | "transaction" | "txSignature" | "lastValidBlockHeight" | "accepted"
>;

async function sign(
  payer: Payer,
  offer: Offer,
  request: CapturedRequest,
  signal: AbortSignal | undefined,
): Promise<Signed> {
  const { payTo, price: amount } = offer;
  const address = addressOf(payer.signer);
  const order = { payer: address, payTo, mint: USDC_MINT, amount, computeUnitPrice: payer.computeUnitPrice };
  const { gasless } = offer;
  if (payer.method === "gasless" && !gasless)
    throw new UnsupportedOfferError(
      "payment_instructions.gasless_supported: is false, and method is gasless; nothing was paid",
    );
  if (gasless && (gasless.accepted ?? offer.challenge) && payer.method === "transfer")
    throw new UnsupportedOfferError(
      `method: is transfer; a call ${offer.challenge ? "of this challenge" : "without an API key"} is paid ` +
        "gasless, nothing was paid",
    );
  if (gasless && payer.method !== "transfer") {
    const { feePayer } = gasless;
    if (feePayer === address)
      throw new UnsupportedOfferError(
        "payment_instructions.fee_payer: is the payer itself; nothing was paid",
      );
    const ground = await groundOf(payer, offer, gasless, request, signal);
    const { memo, blockhash, lastValidBlockHeight } = ground;
    const unsigned = buildPayment({ ...order, feePayer, memo, blockhash });
    const transaction = await signWith(payer.signer, unsigned, unsigned.slot);
    return {
      method: "gasless",
      transaction: encodeTransaction(transaction),
      // The fee payer's signature is the first, and it has not signed.
      txSignature: undefined,
      lastValidBlockHeight,
      accepted: gasless.accepted,
    };
  }
  if (!payer.rpc)
    throw new UnsupportedOfferError(
      "the gateway does not pay the chain's fee: give an rpcUrl to pay by transfer; nothing was paid",
    );
  const { blockhash, lastValidBlockHeight } = await payer.rpc.latestBlockhash().catch(notMade);
  const { memo } = offer;
  const unsigned = buildPayment({ ...order, feePayer: address, memo, blockhash });
  const transaction = await signWith(payer.signer, unsigned, unsigned.slot);
  return {
    method: "transfer",
    transaction: encodeTransaction(transaction),
    txSignature: toBase58(transaction.signatures[0] ?? new Uint8Array()),
    lastValidBlockHeight,
    accepted: undefined,
  };
}

interface Ground {
  readonly memo: string | undefined;
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint | undefined;
}

/** Memo and blockhash: the offer's own, the caller's RPC server's, or the gateway's BuildTransaction. */
async function groundOf(
  payer: Payer,
  { quoteId, challenge }: Offer,
  gasless: GaslessOffer,
  request: CapturedRequest,
  signal: AbortSignal | undefined,
): Promise<Ground> {
  const { memo, recent } = gasless;
  const known = memo !== undefined || challenge;
  if (known && recent) return { memo, ...recent };
  if (known && payer.rpc) return { memo, ...(await payer.rpc.latestBlockhash().catch(notMade)) };
  if (challenge)
    throw new UnsupportedOfferError(
      "WWW-Authenticate: has no recentBlockhash; give an rpcUrl; nothing was paid",
    );
  return askGateway(payer, gasless, quoteId, request, signal).catch(notMade);
}

/** Returns blockhash and memo of BuildTransaction, checked. Its transaction is never signed. */
async function askGateway(
  payer: Payer,
  { feePayer }: GaslessOffer,
  quoteId: string,
  request: CapturedRequest,
  signal: AbortSignal | undefined,
): Promise<Ground> {
  const authorization = request.headers.find(([name]) => name.toLowerCase() === "authorization")?.[1];
  const response = await payer.fetch(new URL("/v1/payments/transaction", request.url), {
    method: "POST",
    headers: { "content-type": "application/json", ...(authorization !== undefined && { authorization }) },
    body: JSON.stringify({ quote_id: quoteId, payer: addressOf(payer.signer) }),
    redirect: "error",
    ...(signal && { signal }),
  });
  const body = jsonObject(await response.text()) ?? {};
  const bytes = typeof body["message"] === "string" ? fromBase64(body["message"]) : undefined;
  const height = body["last_valid_block_height"];
  if (!response.ok || !bytes || typeof height !== "number" || !Number.isSafeInteger(height))
    throw new TypeError(`BuildTransaction: HTTP ${response.status}`);
  if (body["fee_payer"] !== feePayer)
    throw new TypeError("BuildTransaction: names another fee payer than the offer");
  const { blockhash, data } = readMessage(bytes);
  const texts = data.map((one) => new TextDecoder().decode(one));
  const memo = gaslessMemo(
    texts.find((text) => text.endsWith(`:${quoteId}`)),
    quoteId,
  );
  return { memo, blockhash, lastValidBlockHeight: BigInt(height) };
}

function notMade(cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new PaymentNotMadeError(`nothing to build the payment on: ${reason}; nothing was paid`, undefined, {
    cause,
  });
}
