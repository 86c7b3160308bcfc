import { PaymentCreditedError } from "../../app/payment-kept.ts";
import { ToolgateError, type ErrorCode } from "../../domain/errors.ts";
import { x402VersionOf, type ProofCarriers } from "../../domain/proof.ts";
import type { Receipt } from "../../domain/receipt.ts";
import { X402_NETWORK, X402_V1_NETWORK } from "../../domain/x402.ts";
import type { Header } from "../header.ts";
import { encodeHeader } from "./encode.ts";

/** What became of a payment (x402, SettlementResponse). */
export interface Settlement {
  readonly success: boolean;
  /** Base58 signature; empty where nothing was settled. */
  readonly transaction: string;
  readonly network: string;
  /** Micro-USD, decimal. */
  readonly amount?: string;
  readonly errorReason?: string;
}

/** A settlement, and the header that tells it. */
export interface SettlementReport {
  readonly settlement: Settlement;
  /** PAYMENT-RESPONSE, or X-PAYMENT-RESPONSE where version 1 was spoken. */
  readonly header: Header;
}

/** What a call's answer says of its x402 payment; undefined where it came with none, or was paid otherwise. */
export function settlementOfSuccess(
  carriers: ProofCarriers,
  receipt: Receipt | undefined,
): SettlementReport | undefined {
  if (receipt?.txSignature === undefined) return undefined;
  return settlementReport(carriers, {
    success: true,
    transaction: receipt.txSignature,
    amount: String(receipt.debited),
  });
}

/** The same for a call that failed; what failed may be the tool, with the payment settled. */
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
  return { settlement, header: [name, encodeHeader(settlement)] };
}

/** Reasons are in lower case; of a payment whose outcome is open x402's own clients know one name. */
function reasonOf(code: ErrorCode): string {
  return code === "PAYMENT_PENDING" ? "settlement_pending" : code.toLowerCase();
}
