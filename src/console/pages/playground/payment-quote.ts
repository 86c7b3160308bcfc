import { fromJson } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import type { ExchangeResponse } from "./exchange.ts";

/** The quote of a 402 response. */
export interface PaymentQuote {
  readonly quoteId: string;
  readonly price: bigint;
  readonly expiresAt: Date;
  /** Whether the gateway can pay the network fee. */
  readonly gasless: boolean;
}

/** Returns the quote of a response, or undefined. */
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
    // Other errors use status 402 too, for example a rejected payment.
    return undefined;
  }
}
