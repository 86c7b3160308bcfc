import { isAddress, tokenAccountOf } from "./address.ts";
import { fromBase64, isObject, jsonObject } from "./bytes.ts";
import { UnsupportedOfferError } from "./errors.ts";
import type { PaymentRequired } from "./messages.ts";

/** USDC on Solana mainnet. */
export const USDC_MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
/** CAIP-2 name of Solana mainnet, as x402 writes it. */
export const X402_NETWORK = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const QUOTE_ID = /^qt_[1-9A-HJ-NP-Za-km-z]{1,197}$/;
const STEP_ID = /^step_[0-9a-f]{32}$/;
const MEMO_PREFIX = /^[a-z][a-z0-9_-]{0,31}$/;

/** The parameters of a challenge of the HTTP scheme `Payment` (draft-httpauth-payment), as sent. */
export type Challenge = Readonly<Record<string, string>>;

/** Price and payment of one call, after every check that is independent of the caller's settings. */
export interface Offer {
  readonly quoteId: string;
  readonly tool: string;
  /** micro-USD, at least 1 */
  readonly price: bigint;
  /** Token account, base58. */
  readonly payTo: string;
  /** The memo that a transfer must carry; undefined: none, in a challenge without one. */
  readonly memo: string | undefined;
  /** The only RPC server whose chain may be paid on; undefined: of the public chain. */
  readonly rpcUrl: string | undefined;
  /** Undefined where the gateway does not pay the chain's fee. */
  readonly gasless: GaslessOffer | undefined;
  /** What its payment answers in the scheme `Payment`; undefined: it is paid in the gateway's own form. */
  readonly challenge: Challenge | undefined;
}

export interface GaslessOffer {
  /** Base58. */
  readonly feePayer: string;
  /** `<prefix>:<quote_id>`, the one form that is relayed; undefined if the offer has no prefix. */
  readonly memo: string | undefined;
  /** From the x402 header; undefined if absent. */
  readonly recent: { blockhash: string; lastValidBlockHeight: bigint | undefined } | undefined;
  /** The entry of `accepts` that a wallet without an API key sends back; undefined for calls with a key. */
  readonly accepted: Readonly<Record<string, unknown>> | undefined;
}

/** Reads an offer. @param header PAYMENT-REQUIRED, must agree with the body. @throws UnsupportedOfferError */
export function readOffer(offer: PaymentRequired, header: string | null): Offer {
  const { quote, paymentInstructions: to, stepId } = offer;
  if (!quote || !to) throw new UnsupportedOfferError("the offer has no quote");
  demand(QUOTE_ID.test(quote.quoteId), "quote.quote_id", "is no identifier of a quote");
  demand(quote.priceUsdcMicrousd >= 1n, "quote.price_usdc_microusd", "must be at least 1");
  demand(
    quote.amountUsdcMicrousd === 0n || quote.amountUsdcMicrousd === quote.priceUsdcMicrousd,
    "quote.amount_usdc_microusd",
    "differs from price_usdc_microusd",
  );
  demand(to.network === "solana-mainnet", "payment_instructions.network", "must be solana-mainnet");
  demand(
    to.asset === "USDC" && to.usdcMint === USDC_MINT,
    "payment_instructions.usdc_mint",
    "must be USDC's",
  );
  demand(isAddress(to.payTo), "payment_instructions.pay_to", "is no address");
  demand(
    to.destination === "" || to.destination === to.payTo,
    "payment_instructions.destination",
    "differs from pay_to",
  );
  const memo = memoOf(to.memoFormat, quote.quoteId, stepId);
  const { feePayer, treasuryOwner } = to;
  const common = {
    quoteId: quote.quoteId,
    tool: quote.tool,
    price: quote.priceUsdcMicrousd,
    payTo: to.payTo,
    memo,
    rpcUrl: to.rpcUrl,
    challenge: undefined,
  };
  if (!to.gaslessSupported || feePayer === undefined || treasuryOwner === undefined)
    return { ...common, gasless: undefined };
  demand(
    isAddress(feePayer) && feePayer !== treasuryOwner,
    "payment_instructions.fee_payer",
    "is no fee payer",
  );
  demand(
    isAddress(treasuryOwner) && tokenAccountOf(treasuryOwner, USDC_MINT) === to.payTo,
    "payment_instructions.treasury_owner",
    "does not own pay_to",
  );
  const prefixed = isMemoFor(memo, quote.quoteId) ? memo : undefined;
  const gasless: GaslessOffer = { feePayer, memo: prefixed, recent: undefined, accepted: undefined };
  return {
    ...common,
    gasless: header === null ? gasless : readHeader(header, common, gasless, treasuryOwner),
  };
}

/** The `exact` offer of x402 v2 in the header, which must be the same offer. */
function readHeader(
  header: string,
  { quoteId, price }: Pick<Offer, "quoteId" | "price">,
  gasless: GaslessOffer,
  treasuryOwner: string,
): GaslessOffer {
  const bytes = fromBase64(header);
  const accepts = bytes && jsonObject(new TextDecoder().decode(bytes))?.["accepts"];
  const exact = (Array.isArray(accepts) ? accepts : []).filter(
    (one): one is Record<string, unknown> => isObject(one) && one["scheme"] === "exact",
  );
  const [terms] = exact;
  if (!terms || exact.length > 1)
    throw new UnsupportedOfferError("PAYMENT-REQUIRED: must have one offer `exact`");
  const extra = isObject(terms["extra"]) ? terms["extra"] : {};
  const expected: [string, unknown, unknown][] = [
    ["network", terms["network"], X402_NETWORK],
    ["asset", terms["asset"], USDC_MINT],
    ["amount", terms["amount"], price.toString()],
    ["payTo", terms["payTo"], treasuryOwner],
    ["extra.feePayer", extra["feePayer"], gasless.feePayer],
  ];
  for (const [name, value, other] of expected)
    demand(value === other, `PAYMENT-REQUIRED: ${name}`, "contradicts the offer in the body");
  const { memo, recentBlockhash: blockhash, lastValidBlockHeight: height } = extra;
  const named = memo === undefined ? gasless.memo : gaslessMemo(memo, quoteId);
  const known = typeof blockhash === "string" && isAddress(blockhash);
  return {
    ...gasless,
    memo: named,
    recent: known ? { blockhash, lastValidBlockHeight: heightOf(height) } : undefined,
    accepted: typeof extra["offerToken"] === "string" ? terms : undefined,
  };
}

/** The gateway's memo, `<prefix>:<quote_id>` and nothing else. @throws UnsupportedOfferError */
export function gaslessMemo(memo: unknown, quoteId: string): string {
  if (!isMemoFor(memo, quoteId))
    throw new UnsupportedOfferError("the memo does not name the quote, or more than it; nothing was paid");
  return memo;
}

function heightOf(value: unknown): bigint | undefined {
  return /^\d{1,18}$/.test(String(value)) ? BigInt(String(value)) : undefined;
}

/** The announced memo: only quote, step and a plain prefix. Never sign other text of a response. */
function memoOf(format: string, quoteId: string, stepId: string): string {
  if (format === "<step_id>:<quote_id>:<nonce>") {
    demand(STEP_ID.test(stepId), "step_id", "is no identifier of a step");
    return `${stepId}:${quoteId}:${crypto.randomUUID()}`;
  }
  const [prefix = "", rest, ...more] = format.split(":");
  demand(
    MEMO_PREFIX.test(prefix) && rest === "{quote_id}" && more.length === 0,
    "payment_instructions.memo_format",
    "is none of the two known forms",
  );
  return `${prefix}:${quoteId}`;
}

function isMemoFor(memo: unknown, quoteId: string): memo is string {
  if (typeof memo !== "string") return false;
  const [prefix = "", named, ...more] = memo.split(":");
  return MEMO_PREFIX.test(prefix) && named === quoteId && more.length === 0;
}

export function demand(condition: boolean, name: string, problem: string): void {
  if (!condition) throw new UnsupportedOfferError(`${name}: ${problem}; nothing was paid`);
}
