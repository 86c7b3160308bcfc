import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { feeOf, GUARD_UNITS, MAX_UNIT_PRICE, MAX_UNITS } from "./limits.ts";
import type { PaymentLayout } from "./layout.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/**
 * Checks compute limit and price, which the fee payer pays.
 * @param guards number of guards, which add to the limit
 * @returns the fee, lamports
 */
export function checkComputeBudget({ limit, price }: PaymentLayout, guards: number): bigint {
  checkShape(limit, 5, "SetComputeUnitLimit");
  checkShape(price, 9, "SetComputeUnitPrice");
  const units = limit.data.readUInt32LE(1);
  const bid = price.data.readBigUInt64LE(1);
  const most = MAX_UNITS + guards * GUARD_UNITS;
  if (units > most) {
    throw relayRefused(
      RELAY_REFUSALS.COMPUTE_LIMIT,
      `SetComputeUnitLimit asks for ${units} compute units, at most ${most} are paid for; 40000 are ` +
        "plenty for a transfer with a memo",
    );
  }
  if (bid > MAX_UNIT_PRICE) {
    throw relayRefused(
      RELAY_REFUSALS.COMPUTE_PRICE,
      `SetComputeUnitPrice bids ${bid} micro-lamports, at most ${MAX_UNIT_PRICE} are paid`,
    );
  }
  return feeOf({ units, price: bid });
}

function checkShape({ data, accounts }: WireInstruction, bytes: number, name: string): void {
  if (data.length !== bytes) {
    throw relayRefused(
      RELAY_REFUSALS.INSTRUCTION_DATA,
      `${name} has ${data.length} bytes of data and must have ${bytes}`,
    );
  }
  if (accounts.length > 0) {
    throw relayRefused(RELAY_REFUSALS.INSTRUCTION_ACCOUNTS, `${name} names accounts and must name none`);
  }
}
