import { addressBytes, isAddress, isOnCurve, TOKEN_PROGRAM, tokenAccountOf } from "./address.ts";
import { isObject, jsonInBase64Url } from "./bytes.ts";
import { toolOf, type CapturedRequest } from "./captured-request.ts";
import { demand, gaslessMemo, USDC_MINT, type Challenge, type GaslessOffer, type Offer } from "./offer.ts";

/** What commas separate outside quotes, and the scheme, name and value of each. */
const PARTS = /(?:"(?:[^"\\]|\\.)*"|[^",])+/g;
const PARAMETER = /^\s*(?:([\w-]+)\s+)?([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))\s*$/;
/** draft-solana-charge. */
const MAX_MEMO = 566;

/** Returns the challenges of WWW-Authenticate, in the server's order. */
function challengesIn(header: string): Challenge[] {
  const found: Record<string, string>[] = [];
  let current: Record<string, string> | undefined;
  for (const [part] of header.matchAll(PARTS)) {
    const [, scheme, name = "", quoted, token = ""] = PARAMETER.exec(part) ?? [];
    if (scheme !== undefined || name === "") {
      current = scheme?.toLowerCase() === "payment" ? {} : undefined;
      if (current) found.push(current);
    }
    if (current) current[name] = quoted?.replaceAll(/\\(.)/g, "$1") ?? token;
  }
  return found;
}

function requestOf({ request = "" }: Challenge): Record<string, unknown> {
  return jsonInBase64Url(request) ?? {};
}

/** Returns the first challenge of a 402 for USDC on Solana; undefined without one. */
export function payableChallenge({ status, headers }: Response): Challenge | undefined {
  if (status !== 402) return undefined;
  return challengesIn(headers.get("www-authenticate") ?? "").find((challenge) => {
    const { currency } = requestOf(challenge);
    const isUsdc = currency === USDC_MINT || currency === "USDC";
    return challenge["method"] === "solana" && challenge["intent"] === "charge" && isUsdc;
  });
}

/**
 * Reads a challenge as an offer (draft-solana-charge).
 * @param gateway the offer of the same answer, if a gateway's: the challenge must agree with it
 * @throws UnsupportedOfferError
 */
export function readChallenge(
  challenge: Challenge,
  gateway: Offer | undefined,
  call: CapturedRequest,
): Offer {
  const { amount, recipient, externalId, methodDetails } = requestOf(challenge);
  const details = isObject(methodDetails) ? methodDetails : {};
  const { id = "", expires } = challenge;
  check(id !== "", "id", "is missing");
  check(expires === undefined || Date.parse(expires) > Date.now(), "expires", "is past");
  checkKind(details);
  const price = typeof amount === "string" && /^[1-9]\d{0,17}$/.test(amount) ? BigInt(amount) : 0n;
  check(price > 0n, "amount", "must be at least 1");
  const payTo = accountOf(recipient);
  const memo = memoIn(externalId);
  if (gateway) {
    check(gateway.price === price, "amount", "contradicts the offer in the body");
    check(gateway.payTo === payTo, "recipient", "contradicts the offer in the body");
    gaslessMemo(memo, gateway.quoteId);
  }
  const known = gateway ?? {
    quoteId: id,
    tool: toolOf(call) ?? new URL(call.url).pathname,
    rpcUrl: undefined,
  };
  const { quoteId, tool, rpcUrl } = known;
  const gasless = details["feePayer"] === true ? sponsored(details, recipient, memo) : undefined;
  return { quoteId, tool, price, payTo, memo, rpcUrl, gasless, challenge };
}

function checkKind(details: Record<string, unknown>): void {
  const { network = "mainnet-beta", decimals = 6, tokenProgram = TOKEN_PROGRAM } = details;
  check(network === "mainnet-beta", "network", "must be mainnet-beta");
  check(decimals === 6, "decimals", "must be 6");
  check(tokenProgram === TOKEN_PROGRAM, "tokenProgram", "must be SPL Token");
  for (const name of ["splits", "confidential"]) check(!(name in details), name, "is not supported");
}

/** The recipient's account for USDC. */
function accountOf(recipient: unknown): string {
  const isWallet =
    typeof recipient === "string" && isAddress(recipient) && isOnCurve(addressBytes(recipient));
  check(isWallet, "recipient", "is no wallet");
  return isWallet ? tokenAccountOf(recipient, USDC_MINT) : "";
}

function memoIn(externalId: unknown): string | undefined {
  if (externalId === undefined) return undefined;
  const isMemo = typeof externalId === "string" && new TextEncoder().encode(externalId).length <= MAX_MEMO;
  check(isMemo, "externalId", "is no memo");
  return isMemo ? externalId : undefined;
}

function sponsored(
  { feePayerKey: feePayer, recentBlockhash: blockhash }: Record<string, unknown>,
  recipient: unknown,
  memo: string | undefined,
): GaslessOffer | undefined {
  const isFeePayer = typeof feePayer === "string" && isAddress(feePayer) && feePayer !== recipient;
  check(isFeePayer, "feePayerKey", "is no fee payer");
  const known = typeof blockhash === "string" && isAddress(blockhash);
  const recent = known ? { blockhash, lastValidBlockHeight: undefined } : undefined;
  return isFeePayer ? { feePayer, memo, recent, accepted: undefined } : undefined;
}

function check(condition: boolean, name: string, problem: string): void {
  demand(condition, `WWW-Authenticate: ${name}`, problem);
}
