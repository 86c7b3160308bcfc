import { PaymentCreditedError } from "../../app/calls/call-errors.ts";
import { ToolgateError, type ErrorCode } from "../../domain/core/errors.ts";
import { x402VersionOf } from "../../domain/payments/body-proof.ts";
import type { ProofCarriers } from "../../domain/payments/proof.ts";
import type { Receipt } from "../../domain/calls/receipt.ts";
import { X402_NETWORK, X402_V1_NETWORK } from "../../domain/payments/x402.ts";
import type { Header } from "../headers.ts";
import { encodeHeader } from "./encode.ts";

/** The outcome of a payment (x402, SettlementResponse). */
interface Settlement {
  readonly success: boolean;
  /** Base58 signature; empty when nothing was settled. */
  readonly transaction: string;
  readonly network: string;
  /** Micro-USD, decimal. */
  readonly amount?: string;
  readonly extensions?: object;
  readonly errorReason?: string;
}

/** The outcome of a payment in its scheme. */
export interface SettlementReport {
  /** In the `_meta` of an MCP result. */
  readonly meta: Readonly<Record<string, object>>;
  /** PAYMENT-RESPONSE, or X-PAYMENT-RESPONSE for version 1; Payment-Receipt. */
  readonly headers: readonly Header[];
}

/** Name of a settlement in the `_meta` of an MCP result. */
const META_SETTLEMENT = "x402/payment-response";

/** Returns the settlement of a successful call; undefined without an x402 payment. */
export function settlementOfSuccess(
  carriers: ProofCarriers,
  receipt: Pick<Receipt, "txSignature" | "quoted"> | undefined,
  extensions?: object,
): SettlementReport | undefined {
  if (receipt?.txSignature === undefined) return undefined;
  return settlementReport(carriers, {
    success: true,
    transaction: receipt.txSignature,
    // What was transferred: a metered call may debit less of it.
    amount: String(receipt.quoted),
    ...(extensions && { extensions }),
  });
}

/** Returns the settlement of a failed call; the tool may have failed after the payment was settled. */
export function settlementOfFailure(carriers: ProofCarriers, error: unknown): SettlementReport | undefined {
  if (error instanceof PaymentCreditedError)
    return settlementReport(carriers, { success: true, transaction: error.txSignature });
  const code = error instanceof ToolgateError ? error.code : "INTERNAL";
  return settlementReport(carriers, { success: false, transaction: "", errorReason: reasonOf(code) });
}

function settlementReport(
  carriers: ProofCarriers,
  outcome: Omit<Settlement, "network">,
): SettlementReport | undefined {
  const version = x402VersionOf(carriers);
  if (version === undefined) return undefined;
  const settlement = { ...outcome, network: version === 2 ? X402_NETWORK : X402_V1_NETWORK };
  const name = version === 2 ? "payment-response" : "x-payment-response";
  return { meta: { [META_SETTLEMENT]: settlement }, headers: [[name, encodeHeader(settlement)]] };
}

/** Lower-case error code; x402 clients recognise `settlement_pending` for an open outcome. */
function reasonOf(code: ErrorCode): string {
  return code === "PAYMENT_PENDING" ? "settlement_pending" : code.toLowerCase();
}
