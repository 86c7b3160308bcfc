import { type JsonObject, fromJson } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { type ConnectedWallet, hasFeature } from "../../wallet/connect.ts";
import { sendSignedTransaction } from "../../wallet/send-signed-transaction.ts";
import { signTransaction } from "../../wallet/sign-transaction.ts";
import {
  encodedPayment,
  fromBase64,
  post,
  toBase64,
  type Exchange,
  type ExchangeResponse,
} from "./exchange.ts";
import { asObject, asText } from "./schema.ts";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";

export interface SignedPayment {
  /** Value of the X-Payment header. */
  readonly xPayment: string;
  readonly proof: JsonObject;
  /** The request that built the transaction, if there was one. */
  readonly exchange?: Exchange;
}

/** Whether the gateway can submit the transaction and pay its fee. */
export function isGasless(quote: PaymentQuote, { wallet }: ConnectedWallet): boolean {
  return quote.gasless && hasFeature(wallet, "solana:signTransaction");
}

/**
 * Gasless payment: the gateway builds the transaction, the wallet signs it, the call carries it unsent.
 * @throws WalletError, Error if the gateway builds no transaction
 */
export async function signGasless(
  quote: PaymentQuote,
  connected: ConnectedWallet,
  key: string,
): Promise<SignedPayment> {
  const asked = { quote_id: quote.quoteId, payer: connected.account.address };
  const exchange = await post("/v1/payments/transaction", key, asked);
  const { transaction, message } = asObject(exchange.response.body);
  if (exchange.response.status !== 200 || typeof transaction !== "string") throw new Error(asText(message));
  const signed = await signTransaction(connected, fromBase64(transaction));
  if (signed.kind !== "signed")
    throw new Error(`${connected.wallet.name} submitted the transaction instead of signing it`);
  const proof = { transaction: toBase64(signed.transaction), quote_id: quote.quoteId };
  return { xPayment: encodedPayment(proof), proof, exchange };
}

/** Transfer by the wallet, which pays the network fee. @throws WalletError, ConnectError */
export async function payOnChain(
  quote: PaymentQuote,
  connected: ConnectedWallet,
  transport: Transport,
): Promise<SignedPayment> {
  const deposits = createClient(DepositService, transport);
  const asked = { quoteId: quote.quoteId, payer: connected.account.address };
  const { transaction } = await deposits.buildQuoteTransaction(asked);
  const signed = await signTransaction(connected, transaction);
  const tx =
    signed.kind === "sent"
      ? signed.signature
      : await sendSignedTransaction(
          (transaction) => deposits.sendTransaction({ transaction }),
          signed.transaction,
        );
  const proof = { tx, quote_id: quote.quoteId };
  return { xPayment: encodedPayment(proof), proof };
}

export interface PaymentQuote {
  readonly quoteId: string;
  readonly price: bigint;
  readonly expiresAt: Date;
  readonly gasless: boolean;
}

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
