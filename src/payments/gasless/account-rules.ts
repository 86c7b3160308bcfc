import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { isGuard } from "./guards.ts";
import type { WireInstruction, WireTransaction } from "./wire-transaction.ts";

/**
 * Checks signers and accounts. The fee payer's signature covers every account that names it, so no
 * instruction may name it as source, authority, delegate or payer of rent. Guards may only read it.
 */
export function checkAccounts({ signatures, keys, instructions }: WireTransaction): void {
  if (signatures.length !== 2) {
    throw relayRefused(
      RELAY_REFUSALS.SIGNER_COUNT,
      `the transaction asks for ${signatures.length} signatures; it must ask for two, the fee payer's ` +
        "and the payer's",
    );
  }
  const used = new Set<number>();
  for (const instruction of instructions) {
    if (!isGuard(instruction, keys)) refuseFeePayer(instruction);
    for (const account of [instruction.program, ...instruction.accounts]) used.add(account);
  }
  if (keys.some((_key, index) => index > 0 && !used.has(index))) {
    throw relayRefused(
      RELAY_REFUSALS.ACCOUNT_UNUSED,
      "the transaction names an account that none of its instructions uses; build it of the payment's " +
        "instructions alone",
    );
  }
}

function refuseFeePayer({ accounts }: WireInstruction): void {
  if (!accounts.includes(0)) return;
  throw relayRefused(
    RELAY_REFUSALS.FEE_PAYER_USED,
    "an instruction names the fee payer among its accounts; it pays the fee and takes part in nothing else",
  );
}
