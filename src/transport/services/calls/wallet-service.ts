import { WalletService } from "#gen/toolgate/v1/wallet_service_pb.ts";
import type { WalletSignIn } from "../../../app/accounts/sign-in.ts";
import { callTool, type CallToolDeps } from "../../../app/calls/call-tool.ts";
import { PaymentRequiredError } from "../../../app/calls/call-errors.ts";
import { malformedProof, ToolgateError } from "../../../domain/core/errors.ts";
import { displayUsd } from "../../../domain/core/money.ts";
import { DetailedError } from "../../error-details.ts";
import type { RequestContext } from "../../request-context.ts";
import { signInExtension } from "../../wallets/sign-in-required.ts";
import type { UnpaidAnswers } from "../../wallets/unpaid-answers.ts";
import type { OfferReceipts } from "../../x402/offer-receipt.ts";
import type { QuoteOffers } from "../../offers.ts";
import type { SoldTools } from "../../x402/sold-tools.ts";
import { bind, WALLET, type ServiceBinding } from "../../endpoint.ts";
import { idempotencyKeyOf } from "../request-fields.ts";
import type { PaymentRequiredMessages } from "./payment-required-message.ts";
import { noteResult } from "./note-result.ts";
import { PaymentReport } from "./payment-report.ts";
import { receiptMessage } from "./receipt-message.ts";

export interface WalletServiceOptions {
  readonly deps: CallToolDeps;
  readonly offers: QuoteOffers;
  readonly messages: PaymentRequiredMessages;
  readonly unpaid: Pick<UnpaidAnswers, "paid">;
  readonly sold: Pick<SoldTools, "byName">;
  readonly signed: Pick<OfferReceipts, "bought">;
  readonly signIn: WalletSignIn;
}

/** Sells calls to wallets. @param options undefined: X402_KEYLESS is off */
export function walletService(options: WalletServiceOptions | undefined): ServiceBinding {
  return bind(WalletService, WALLET, {
    async buyTool({ tool, params = {} }, context) {
      if (context.record) context.record.params = params;
      if (!options) throw new ToolgateError("NOT_FOUND", "calls without an API key are off (X402_KEYLESS)");
      if (context.xPayment !== undefined)
        throw malformedProof("X-Payment: pays calls with an API key; send PAYMENT-SIGNATURE");
      const { paymentSignature, credential, body, requestId, signal, form } = context;
      const caller = (paymentSignature ?? credential) === undefined ? context.caller : undefined;
      if (caller) await context.client?.signIn?.use("POST", pathOf(tool, context));
      const proof = { paymentSignature, credential, body, xPayment: undefined, paymentProof: undefined };
      const idempotencyKey = idempotencyKeyOf(undefined, context.idempotencyKey);
      const report = new PaymentReport(context, proof, options.deps.clock);
      try {
        const { record, output, onStart, attached } = report.atStart(context);
        const probed = context.unreadable !== undefined;
        const { result, receipt, payer } = await callTool(
          options.deps,
          { tool, params, form, ...proof, idempotencyKey },
          { caller, keyless: true, probed, requestId, signal, record, output, onStart, attached },
        );
        noteResult(context.record, result, receipt);
        if (receipt && context.client) options.unpaid.paid(context.client);
        const extensions = receipt && payer && options.signed.bought(pathOf(tool, context), payer, receipt);
        report.succeeded(receipt, extensions || undefined);
        return { ok: true, result, receipt: receipt && receiptMessage(receipt) };
      } catch (error) {
        if (error instanceof PaymentRequiredError)
          throw await offered(options, explained(error, context), context);
        report.failed(error);
        throw error;
      }
    },
  });
}

/** Characters of a problem in an offer, which clients send back in a header. */
const MAX_PROBLEM_LENGTH = 200;

function explained(error: PaymentRequiredError, { unreadable }: RequestContext): PaymentRequiredError {
  if (unreadable === undefined) return error;
  const problem = unreadable.slice(0, MAX_PROBLEM_LENGTH).toWellFormed();
  return new PaymentRequiredError(
    error.tool,
    error.quote,
    `${problem}. These are the terms of the example at /.well-known/x402, which buy no other call. ` +
      error.message,
  );
}

/** Returns the path at which wallets buy the call. Over gRPC and Connect it is that over HTTP. */
function pathOf(tool: string, { form, path }: RequestContext): string {
  return form === undefined || path === undefined ? `/x402/${tool}` : path;
}

/** Returns the 402, or FORBIDDEN for a price that the relay does not take. */
async function offered(
  { deps, offers, messages, sold, signIn }: WalletServiceOptions,
  error: PaymentRequiredError,
  context: RequestContext,
): Promise<ToolgateError> {
  const { tool, quote } = error;
  const path = pathOf(tool, context);
  const offerToken = deps.quotes.offerToken(quote);
  const extensions = signInExtension(signIn.challenge("POST", path));
  // What is listed of the tool describes its own parameters.
  const listed = context.form === undefined ? sold.byName().get(tool) : undefined;
  const wallet = { path, offerToken, sold: listed, extensions };
  const offer = await offers.offer(error, context, wallet);
  if (offer.x402)
    return DetailedError.paymentRequired(error, messages.forWallet(error, context.requestId), offer);
  return new ToolgateError(
    "FORBIDDEN",
    `this call of ${tool} costs ${displayUsd(quote.price)}, which is too little for a payment of its own; ` +
      "send SIGN-IN-WITH-X and pay it from your balance, or send it to /v1/mcp/tools/call with an API key",
  );
}
