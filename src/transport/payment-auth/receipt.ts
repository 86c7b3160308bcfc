import { SOLANA_CHARGE } from "../../domain/payments/payment-auth.ts";
import { challengeIdOf, type ProofCarriers } from "../../domain/payments/proof.ts";
import type { SettlementReport } from "../x402/settlement.ts";

/** Name of a receipt in the `_meta` of an MCP result. */
const META_RECEIPT = "org.paymentauth/receipt";

interface Paid {
  readonly txSignature: string | undefined;
  readonly createdAt: Date;
}

/** Returns Payment-Receipt (draft-httpauth-payment) of a successful call; undefined without a credential. */
export function receiptOfSuccess(
  carriers: ProofCarriers,
  paid: Paid | undefined,
): SettlementReport | undefined {
  const challengeId = challengeIdOf(carriers);
  if (challengeId === undefined || paid?.txSignature === undefined) return undefined;
  const receipt = {
    challengeId,
    method: SOLANA_CHARGE.method,
    reference: paid.txSignature,
    status: "success",
    timestamp: paid.createdAt.toISOString(),
  };
  const header = Buffer.from(JSON.stringify(receipt)).toString("base64url");
  return {
    meta: { [META_RECEIPT]: receipt },
    headers: [
      ["payment-receipt", header],
      ["cache-control", "private"],
    ],
  };
}
