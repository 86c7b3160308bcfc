import { randomBytes, randomUUID } from "node:crypto";
import { base58 } from "@scure/base";
import type { AttributedMovement } from "../../../src/app/treasury/treasury-ledger.ts";
import type { VerifiedTransfer } from "../../../src/app/payments/payment-methods.ts";
import { PRICE, type Instance } from "../fixture.ts";

/** A treasury token account with a started watch. */
export async function watchedAccount({ treasury }: Instance, amount = 0n): Promise<string> {
  const tokenAccount = base58.encode(randomBytes(32));
  await treasury.startWatch(tokenAccount, { amount, slot: 0n });
  return tokenAccount;
}

/** A transfer of PRICE without an owner. */
export function movementOf(change: Partial<AttributedMovement> = {}): AttributedMovement {
  return {
    txSignature: base58.encode(randomBytes(64)),
    slot: 1n,
    blockTime: new Date("2026-01-01T00:00:00Z"),
    change: PRICE,
    memo: undefined,
    memos: undefined,
    payer: undefined,
    attribution: undefined,
    ...change,
  };
}

/** The movement of a finalized deposit; `accountId` is the one its memo names. */
export function movementOfDeposit(deposit: VerifiedTransfer, accountId: string): AttributedMovement {
  return movementOf({
    txSignature: deposit.reference,
    change: deposit.amount,
    attribution: { accountId, quoteId: deposit.quoteId },
  });
}

/** An account identifier that does not exist. */
export function unknownAccountId(): string {
  return `acct_${randomUUID().replaceAll("-", "")}`;
}
