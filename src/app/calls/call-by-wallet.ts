import { OTHER } from "../operations/request-record.ts";
import { type CallContext, fingerprint, withChoice } from "../../domain/calls/call-context.ts";
import { type Caller, walletCaller } from "../../domain/accounts/caller.ts";
import { malformedProof, ToolgateError } from "../../domain/core/errors.ts";
import { displayUsd, type MicroUsd } from "../../domain/core/money.ts";
import { ANY_WALLET } from "../../domain/payments/quote.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import type { Proof } from "../../domain/payments/proof.ts";
import type { WalletAccounts } from "../accounts/accounts.ts";
import { paymentRefused } from "../payments/payment-methods.ts";
import { buyCall, type CallBuyer, type PreparedToolCall } from "./buy-call.ts";
import {
  callTool,
  idempotencyKeyOf,
  type CallToolDeps,
  type ToolCall,
  withPresentParams,
} from "./call-tool.ts";
import type { ToolCallResult } from "./run-and-capture.ts";
import { PaymentRequiredError } from "./call-errors.ts";

export interface WalletCallDeps extends CallToolDeps {
  readonly wallets: WalletAccounts;
}

export interface WalletCallResult extends ToolCallResult {
  /** The wallet that paid for the receipt's call; undefined when the balance did. Base58. */
  readonly payer?: string;
}

/** The context of a call without an API key; `caller`: the account of a wallet that signed in to spend. */
export type WalletContext = Omit<CallContext, "caller"> & {
  readonly caller: Caller | undefined;
  /** Whether the parameters are the tool's example, as those of the request cannot be read. */
  readonly probed?: boolean;
};

/**
 * A tool call without an API key. An x402 payment buys it for the payer's account, which its first settled
 * payment creates; the balance buys it for a wallet that signed in; otherwise the answer is a quote for any
 * wallet. A quote without a payment reads and stores nothing.
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export async function callByWallet(
  deps: WalletCallDeps,
  call: ToolCall,
  context: WalletContext,
): Promise<WalletCallResult> {
  const { caller, record } = context;
  const receivedAt = deps.clock.now();
  const catalogue = deps.catalogue.current;
  if (record) record.tool = OTHER;
  const tool = catalogue.resolve(call.tool);
  if (record) record.tool = tool.name;
  if (caller) return callFromBalance(deps, call, { ...context, caller });
  if (!tool.billable) throw freeTool(tool.name);
  const { params } = withPresentParams(tool, call);
  const callFingerprint = fingerprint(tool.name, params);
  if (context.probed && tool.fixedPrice !== undefined)
    throw anyWalletOffer(deps, tool, tool.fixedPrice, callFingerprint);
  const prepared = tool.prepare(params);
  const proof = deps.payments.parse(call);
  if (!proof)
    throw anyWalletOffer(deps, tool, prepared.price, withChoice(callFingerprint, prepared.choice?.name));
  const known = {
    tool,
    prepared,
    fingerprint: callFingerprint,
    receivedAt,
    configVersion: catalogue.version,
  };
  catalogue.startCall();
  try {
    return await callByPayment(
      deps,
      { ...known, idempotencyKey: idempotencyKeyOf(call, proof) },
      proof,
      context,
    );
  } finally {
    catalogue.endCall();
  }
}

function anyWalletOffer(
  { quotes }: Pick<WalletCallDeps, "quotes">,
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

/** Buys the call with an x402 payment for the payer's account. */
async function callByPayment(
  deps: WalletCallDeps,
  call: Omit<PreparedToolCall, "identified" | "quote">,
  proof: Proof,
  context: WalletContext,
): Promise<WalletCallResult> {
  const identified = await deps.payments.identify(proof);
  const { payer } = identified;
  if (payer === undefined)
    throw malformedProof("PAYMENT-SIGNATURE: must hold an x402 payload, signed by your wallet");
  const quote = await deps.quotes.find(identified.quoteId);
  // Also when the quote's sealing key was retired: then nothing shows who received the offer.
  if (!quote || !deps.quotes.isOfferToken(quote, proof.offerToken))
    throw paymentRefused(
      "PAYMENT-SIGNATURE: accepted.extra.offerToken is not the one that was offered; take an entry of " +
        "`accepts` of the 402 answer, unchanged",
    );
  const { buyer, holder } = await buyerOf(deps.wallets, payer);
  const bought = await buyCall(deps, { ...call, identified, quote }, buyer, { ...context, caller: holder });
  // A repeat under an idempotency key can return a call that another payment of the account bought.
  return bought.receipt?.quoteId === quote.quoteId ? { ...bought, payer } : bought;
}

/** Spends the balance of a wallet that signed in; without enough of it, offers a quote for any wallet. */
async function callFromBalance(
  deps: WalletCallDeps,
  call: ToolCall,
  context: CallContext,
): Promise<ToolCallResult> {
  try {
    return await callTool(deps, call, context);
  } catch (error) {
    if (!(error instanceof PaymentRequiredError)) throw error;
    const { price, fingerprint: quoted } = error.quote;
    throw new PaymentRequiredError(error.tool, deps.quotes.issue(ANY_WALLET, price, quoted), error.message);
  }
}

/** Finds the payer's account. A wallet without one gets it with its first settled payment. */
async function buyerOf(
  wallets: WalletAccounts,
  payer: string,
): Promise<{ buyer: CallBuyer; holder: Caller }> {
  const found = await wallets.find(payer);
  if (found?.blockedReason !== undefined)
    throw new ToolgateError(
      "FORBIDDEN",
      `the account of wallet ${payer} is blocked: ${found.blockedReason}. Nothing was paid; ask the operator`,
    );
  const holder = found ?? walletCaller(payer);
  const open = async () => found ?? wallets.open(payer);
  return { buyer: { quotedTo: ANY_WALLET, exists: found !== undefined, open }, holder };
}

function freeTool(name: string): ToolgateError {
  return new ToolgateError(
    "UNAUTHORIZED",
    `${name} is free: send SIGN-IN-WITH-X for a wallet that has an account, or call it at ` +
      "/v1/mcp/tools/call with Authorization: Bearer <API_KEY>",
  );
}
