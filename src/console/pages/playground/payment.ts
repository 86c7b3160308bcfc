import type { JsonObject } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { DepositService } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import type { ConnectedWallet } from "../../wallet/connect.ts";
import { hasFeature } from "../../wallet/features.ts";
import { sendSignedTransaction } from "../../wallet/send-signed-transaction.ts";
import { signTransaction } from "../../wallet/sign-transaction.ts";
import { encodedPayment, fromBase64, post, toBase64, type Exchange } from "./exchange.ts";
import type { PaymentQuote } from "./payment-quote.ts";
import { asObject, asText } from "./schema.ts";

/** A signed or submitted payment. */
export interface SignedPayment {
  /** Value of the X-Payment header. */
  readonly xPayment: string;
  /** The same payment before encoding. */
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

/**
 * Transfer by the wallet, which pays the network fee.
 * @throws WalletError, ConnectError
 */
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
