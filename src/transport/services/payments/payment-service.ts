import { PaymentService } from "#gen/toolgate/v1/payment_service_pb.ts";
import type { Relay } from "../../../app/payments/gasless/relay-port.ts";
import { invalidField, ToolgateError } from "../../../domain/core/errors.ts";
import type { Quote, Quotes } from "../../../domain/payments/quote.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

export interface PaymentServiceDeps {
  readonly quotes: Pick<Quotes, "find">;
  /** Undefined when gasless is off. */
  readonly relay: Relay | undefined;
}

/** Builds transactions that pay quotes with the gateway's fee payer. */
export function paymentService({ quotes, relay }: PaymentServiceDeps): ServiceBinding {
  return bind(PaymentService, KEY, {
    async buildTransaction({ quoteId, payer }, { caller, signal }) {
      if (!relay) throw relayOff();
      const quote = ownQuote(await quotes.find(quoteId), caller.accountId);
      const { transaction, message, feePayer, lastValidBlockHeight } = await relay.build({
        quote,
        payer,
        signal,
      });
      return {
        transaction: Buffer.from(transaction).toString("base64"),
        message: Buffer.from(message).toString("base64"),
        feePayer,
        lastValidBlockHeight,
      };
    },
  });
}

function ownQuote(quote: Quote | undefined, accountId: string): Quote {
  if (!quote)
    throw invalidField("quote_id", "was not issued here; send the quote_id of a 402 response unchanged");
  if (quote.accountId === accountId) return quote;
  throw invalidField("quote_id", "was issued to another account; ask for a quote with this API key");
}

function relayOff(): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    "the gasless relay is off: pay the quote with your own transaction and prove it with {tx, quote_id}",
  );
}
