import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { MAX_GUARDS } from "./limits.ts";
import { LIGHTHOUSE_PROGRAM } from "./programs.ts";
import type { WireInstruction, WireTransaction } from "./wire-transaction.ts";

/**
 * First bytes of AssertAccountInfo and AssertAccountInfoMulti: all that wallets assert about a fee payer.
 */
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

/** Whether an instruction calls Lighthouse. */
export function isGuard({ program }: WireInstruction, keys: readonly Buffer[]): boolean {
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
