import { fromJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import type { ExchangeResponse } from "./exchange.ts";

/** What a 402 answer offers. */
export interface PaymentQuote {
  readonly quoteId: string;
  readonly price: bigint;
  readonly expiresAt: Date;
  /** Whether the gateway pays the chain's fee. */
  readonly gasless: boolean;
}

/** The quote of an response; undefined where it has none. */
export function quoteFromResponse({ status, body }: ExchangeResponse): PaymentQuote | undefined {
  if (status !== 402 || body === undefined) return undefined;
  try {
    const { quote, paymentInstructions } = fromJson(PaymentRequiredSchema, body, {
      ignoreUnknownFields: true,
    });
    if (!quote?.expiresAt || quote.quoteId === "") return undefined;
    return {
      quoteId: quote.quoteId,
      price: quote.priceUsdcMicrousd,
      expiresAt: timestampDate(quote.expiresAt),
      gasless: paymentInstructions?.gaslessSupported ?? false,
    };
  } catch {
    // Another refusal with the same status, e.g. of a payment.
    return undefined;
  }
}
