import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { parseMemo } from "../../domain/payments/memo.ts";
import {
  MAX_GUARDS,
  LIGHTHOUSE_PROGRAM,
  feeOf,
  GUARD_UNITS,
  MAX_UNIT_PRICE,
  MAX_UNITS,
  PAID_UNITS,
  type PaymentLayout,
} from "./layout.ts";
import type { WireInstruction, WireTransaction } from "./wire-transaction.ts";

/** First bytes of AssertAccountInfo and AssertAccountInfoMulti: all that wallets assert about a fee payer. */
const OF_ACCOUNTS = [5, 6];

/**
 * Guards that are relayed: assertions about account data and token accounts. Clock (15), mint, stake or
 * program can change between simulation and landing, at the fee payer's cost.
 */
export const RELAYED_GUARDS: ReadonlySet<number> = new Set([2, 3, ...OF_ACCOUNTS, 9, 10]);

/**
 * Kinds that only assert: AssertAccountData to AssertSysvarClock. 0 (MemoryWrite) creates accounts at a
 * signer's cost, 1 (MemoryClose) closes them, 16 calls another program, and 17 has no use in payments.
 */
export const ASSERTIONS: ReadonlySet<number> = new Set(
  Array.from({ length: 14 }, (_none, index) => index + 2),
);

function isGuard({ program }: WireInstruction, keys: readonly Buffer[]): boolean {
  return keys[program]?.equals(LIGHTHOUSE_PROGRAM) === true;
}

/**
 * Removes the guards that wallets add before the payment's own instructions are counted: they can fail the
 * transaction but change nothing.
 * @param kinds allowed first bytes of a guard
 * @returns the guards and the other instructions, in order
 */
export function withoutGuards(
  { instructions, keys }: Pick<WireTransaction, "instructions" | "keys">,
  kinds: ReadonlySet<number>,
): { guards: WireInstruction[]; rest: WireInstruction[] } {
  const rest = instructions.filter((instruction) => !isGuard(instruction, keys));
  const guards = instructions.filter((instruction) => isGuard(instruction, keys));
  if (guards.length > MAX_GUARDS) {
    throw relayRefused(
      RELAY_REFUSALS.GUARD_COUNT,
      `the transaction has ${guards.length} Lighthouse instructions, at most ${MAX_GUARDS} are ` +
        "relayed; sign it with a wallet that adds fewer",
    );
  }
  for (const guard of guards) {
    if (kinds.has(kindOf(guard))) continue;
    throw relayRefused(
      RELAY_REFUSALS.GUARD_KIND,
      `a Lighthouse instruction is of kind ${kindOf(guard)}; only assertions about accounts are ` +
        `relayed (kinds ${[...kinds].join(", ")})`,
    );
  }
  return { guards, rest };
}

/**
 * Rejects guards on accounts that others change: the treasury, the mint, sysvars. Wallets also guard the fee
 * payer, whose balance decreases with each payment, so such a guard may fail.
 * @param source index of the payer's token account
 */
export function checkGuardAccounts(guards: readonly WireInstruction[], source: number | undefined): void {
  for (const guard of guards) {
    const [account, ...more] = guard.accounts;
    const own = account === 1 || (account !== undefined && account === source);
    if (more.length === 0 && (own || (account === 0 && OF_ACCOUNTS.includes(kindOf(guard))))) continue;
    throw relayRefused(
      RELAY_REFUSALS.GUARD_ACCOUNT,
      "a Lighthouse instruction must look at one account, the payer's wallet or its USDC account " +
        "(kinds 5 and 6 also at the fee payer); others can change at any time",
    );
  }
}

function kindOf({ data }: WireInstruction): number {
  return data[0] ?? 0;
}

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
  const paid = BigInt(PAID_UNITS + guards * GUARD_UNITS) * MAX_UNIT_PRICE;
  if (BigInt(units) * bid > paid) {
    throw relayRefused(
      RELAY_REFUSALS.COMPUTE_PRICE,
      `SetComputeUnitPrice bids ${bid} micro-lamports for each of ${units} compute units, at most ` +
        `${paid / BigInt(units)} are paid for so many; 40000 units are plenty`,
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

/**
 * Returns the memo `<prefix>:<quote_id>`. It needs no accounts: the payer signs the whole message.
 * @param prefix undefined: any memo
 */
export function checkMemo({ data, accounts }: WireInstruction, prefix: string | undefined): string {
  if (accounts.length > 0) {
    throw relayRefused(RELAY_REFUSALS.INSTRUCTION_ACCOUNTS, "the memo names accounts and must name none");
  }
  // The format is ASCII: invalid UTF-8 and byte order marks decode to characters that it does not allow.
  const text = data.toString("utf8");
  if (prefix !== undefined && parseMemo(text, prefix)?.form !== "prefix") {
    throw relayRefused(
      RELAY_REFUSALS.MEMO_TEXT,
      `the memo must be exactly ${prefix}:<quote_id>, with the quote_id of the 402 answer`,
    );
  }
  return text;
}
