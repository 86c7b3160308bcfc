import { type Caller, walletCaller } from "../../domain/accounts/caller.ts";
import { type CallContext, fingerprint } from "../../domain/calls/call-context.ts";
import { malformedProof, ToolgateError } from "../../domain/core/errors.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import type { Proof } from "../../domain/payments/proof.ts";
import { ANY_WALLET, type Quotes } from "../../domain/payments/quote.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { WalletAccounts } from "../accounts/accounts.ts";
import { paymentRefused } from "../payments/payment-methods.ts";
import type { Buyer, Purchase } from "./buy-call.ts";
import { PaymentRequiredError } from "./call-errors.ts";

/** The context of a call as it arrives; `caller`: whom a key or a wallet's sign-in names. */
export interface ArrivedContext extends CallContext<Caller | undefined> {
  /** Whether it came without an API key: then any wallet can pay what is quoted. */
  readonly keyless?: boolean;
  /** Whether the parameters are the tool's example, as those of the request cannot be read. */
  readonly probed?: boolean;
}

type Offers = Pick<Quotes, "issue">;

/**
 * Checks that a stranger may ask for the tool. A probe needs no price of its own if all calls cost the same.
 * @throws ToolgateError UNAUTHORIZED for a free tool; PaymentRequiredError for a probe
 */
export function requireSold(
  quotes: Offers,
  tool: Tool,
  params: JsonObject,
  { probed }: Pick<ArrivedContext, "probed">,
): void {
  if (!tool.billable)
    throw new ToolgateError(
      "UNAUTHORIZED",
      `${tool.name} is free: send SIGN-IN-WITH-X for a wallet that has an account, or call it at ` +
        "/v1/mcp/tools/call with Authorization: Bearer <API_KEY>",
    );
  if (probed && tool.fixedPrice !== undefined)
    throw anyWalletOffer(quotes, tool, tool.fixedPrice, fingerprint(tool.name, params));
}

/** Asks for a payment of any wallet. Reads and stores nothing. */
export function anyWalletOffer(
  quotes: Offers,
  { name, metered }: Tool,
  price: MicroUsd,
  quoted: Buffer,
): PaymentRequiredError {
  return new PaymentRequiredError(
    name,
    quotes.issue(ANY_WALLET, price, quoted),
    `This call costs ${metered ? "at most " : ""}${displayUsd(price)}: pay it with x402 and repeat the ` +
      "request with PAYMENT-SIGNATURE" +
      (metered ? ". What the call does not use stays on the balance of your wallet's account" : ""),
  );
}

interface WalletDeps {
  readonly quotes: Pick<Quotes, "isOfferToken">;
  readonly wallets: WalletAccounts;
}

/**
 * Finds the account of the wallet that pays. A wallet without one gets it with its first settled payment.
 * @throws ToolgateError INVALID_PAYMENT unless the payment answers an offer; FORBIDDEN for a blocked account
 */
export async function payingWallet(
  { quotes, wallets }: WalletDeps,
  { offerToken, challenge }: Proof,
  { identified, quote }: Pick<Purchase, "identified" | "quote">,
): Promise<Buyer> {
  const payer = identified?.payer;
  if (payer === undefined)
    throw malformedProof(
      "the payment must be a transaction that your wallet signed, in PAYMENT-SIGNATURE or Authorization: " +
        "Payment; a transfer that you sent pays calls with an API key",
    );
  // Also when the quote's sealing key was retired: then nothing shows who received the offer.
  if (!quote || (!challenge && !quotes.isOfferToken(quote, offerToken)))
    throw paymentRefused(
      "PAYMENT-SIGNATURE: accepted.extra.offerToken is not the one that was offered; take an entry of " +
        "`accepts` of the 402 answer, unchanged",
    );
  const found = await wallets.find(payer);
  if (found?.blockedReason !== undefined)
    throw new ToolgateError(
      "FORBIDDEN",
      `the account of wallet ${payer} is blocked: ${found.blockedReason}. Nothing was paid; ask the operator`,
    );
  const open = async () => found ?? wallets.open(payer);
  return { caller: found ?? walletCaller(payer), quotedTo: ANY_WALLET, exists: found !== undefined, open };
}
