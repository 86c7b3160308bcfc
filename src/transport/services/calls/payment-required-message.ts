import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type PaymentInstructions,
  PaymentInstructionsSchema,
  type PaymentRequired,
  type PaymentRetry,
  PaymentRetrySchema,
} from "#gen/toolgate/v1/payment_pb.ts";
import type { Quote as QuoteMessage } from "#gen/toolgate/v1/quote_pb.ts";
import type { PaymentRequiredError } from "../../../app/calls/payment-required-error.ts";
import { memoFormats, type Memo } from "../../../domain/payments/memo.ts";
import { displayUsd, type MicroUsd } from "../../../domain/core/money.ts";
import { ASSET, NETWORK } from "../../../domain/payments/body-proof.ts";
import { stepIdOf, type Quote } from "../../../domain/payments/quote.ts";
import { xPaymentFormat } from "../../../domain/payments/x-payment.ts";

/** How this installation is paid. Addresses are base58. */
export interface PaymentConfig {
  /** The treasury's USDC token account. */
  readonly payTo: string;
  /** The wallet that owns it. */
  readonly treasuryOwner: string;
  readonly usdcMint: string;
  readonly memoPrefix: string;
  /** Wallet that pays the fees of relayed transactions; undefined when the gasless relay is off. */
  readonly feePayer: string | undefined;
  /** Cheapest quote that is relayed, micro-USD. */
  readonly gaslessMinimum: MicroUsd;
}

/** The parts that all 402 responses share. */
interface FixedParts {
  readonly paymentInstructions: PaymentInstructions;
  readonly retry: PaymentRetry;
}

/** By memo form of the transport. */
type Instructions = Readonly<Record<Memo["form"], FixedParts>>;

/**
 * Builds 402 responses (specification 2.3). Shared parts are built once; a literal costs a tenth of `create`.
 */
export class PaymentRequiredMessages {
  readonly #config: PaymentConfig;
  readonly #wallet: Instructions;
  readonly #gasless: Instructions;

  constructor(config: PaymentConfig) {
    const formats = memoFormats(config.memoPrefix);
    const made = (gasless: boolean): Instructions => ({
      step: fixedParts(config, formats.step, gasless),
      prefix: fixedParts(config, formats.prefix, gasless),
    });
    this.#config = config;
    this.#wallet = made(false);
    this.#gasless = made(true);
  }

  /** Returns whether the relay accepts a payment of this quote: it must be worth more than its fee. */
  isGasless({ price }: Quote): boolean {
    return this.#config.feePayer !== undefined && price >= this.#config.gaslessMinimum;
  }

  /** Returns the 402 message with the given memo form. */
  message(
    { tool, quote, message }: PaymentRequiredError,
    requestId: string,
    memoForm: Memo["form"],
  ): PaymentRequired {
    const { paymentInstructions, retry } = (this.isGasless(quote) ? this.#gasless : this.#wallet)[memoForm];
    return {
      $typeName: "toolgate.v1.PaymentRequired",
      code: "PAYMENT_REQUIRED",
      message,
      requestId,
      quote: quoteMessage(tool, quote),
      paymentInstructions,
      stepId: stepIdOf(quote.quoteId),
      retry,
    };
  }
}

function quoteMessage(tool: string, { quoteId, price, issuedAt, expiresAt }: Quote): QuoteMessage {
  return {
    $typeName: "toolgate.v1.Quote",
    quoteId,
    tool,
    priceUsdcMicrousd: price,
    amountUsdcMicrousd: price,
    priceDisplay: displayUsd(price),
    ttlSeconds: Math.floor((expiresAt - issuedAt) / 1000),
    expiresAt: timestampFromMs(expiresAt),
  };
}

function fixedParts(config: PaymentConfig, memoFormat: string, gasless: boolean): FixedParts {
  const paymentInstructions = instructions(config, memoFormat, gasless);
  const headers = { "X-Payment": paymentInstructions.x402HeaderFormat };
  return { paymentInstructions, retry: create(PaymentRetrySchema, { method: "POST", headers }) };
}

function instructions(
  { payTo, treasuryOwner, usdcMint, feePayer }: PaymentConfig,
  memoFormat: string,
  gasless: boolean,
): PaymentInstructions {
  const common = {
    network: NETWORK,
    asset: ASSET,
    payTo,
    destination: payTo,
    usdcMint,
    memoFormat,
    methods: ["x402_header", "body_payment_proof", "transfer", "solana_pay"],
    x402HeaderFormat: xPaymentFormat(gasless),
  };
  return create(
    PaymentInstructionsSchema,
    feePayer === undefined || !gasless
      ? { ...common, gaslessSupported: false, paymentMethods: ["wallet"] }
      : { ...common, gaslessSupported: true, paymentMethods: ["wallet", "gasless"], feePayer, treasuryOwner },
  );
}
