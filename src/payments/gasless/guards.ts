import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import { MAX_GUARDS } from "./limits.ts";
import { LIGHTHOUSE_PROGRAM } from "./programs.ts";
import type { WireInstruction, WireTransaction } from "./wire-transaction.ts";

/** AssertAccountInfo and AssertAccountInfoMulti, by their first byte: all that wallets assert of a fee payer. */
const OF_ACCOUNTS = [5, 6];

/**
 * What is relayed: with AssertAccountData and AssertTokenAccount, and their Multi, all that a wallet and its USDC can be asserted of.
 * The clock (15), a mint, a stake or a program can change between simulation and landing without the payer, at the fee payer's cost.
 */
export const RELAYED_GUARDS: ReadonlySet<number> = new Set([2, 3, ...OF_ACCOUNTS, 9, 10]);

/**
 * What only asserts: AssertAccountData to AssertSysvarClock. 0 (MemoryWrite) makes accounts at the cost of a signer, 1 (MemoryClose)
 * closes them, 16 (AssertMerkleTreeAccount) calls another program; 17 (AssertBubblegumTreeConfigAccount) no payment has a use for.
 */
export const ASSERTIONS: ReadonlySet<number> = new Set(
  Array.from({ length: 14 }, (_none, index) => index + 2),
);

/** Whether an instruction belongs to Lighthouse, whatever it does there. */
export function isGuard({ program }: WireInstruction, keys: readonly Buffer[]): boolean {
  return keys[program]?.equals(LIGHTHOUSE_PROGRAM) === true;
}

/**
 * Takes out the guards that wallets put in, wherever they are, before the payment's own instructions are counted: they can make a
 * transaction fail, and change nothing.
 * @param kinds first bytes that a guard may have
 * @returns the guards and the other instructions, in their order
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
      `the transaction has ${guards.length} Lighthouse instructions, at most ${MAX_GUARDS} are relayed; sign it with a wallet that adds fewer`,
    );
  }
  for (const guard of guards) {
    if (kinds.has(kindOf(guard))) continue;
    throw relayRefused(
      RELAY_REFUSALS.GUARD_KIND,
      `a Lighthouse instruction is of kind ${kindOf(guard)}; only assertions about accounts are relayed (kinds ${[...kinds].join(", ")})`,
    );
  }
  return { guards, rest };
}

/**
 * Refuses guards that look at accounts which others change: the treasury's, the mint, sysvars. The fee payer is looked at by wallets; its
 * balance falls with each payment, so that such a guard can fail too.
 * @param source index of the payer's token account
 */
export function checkGuardAccounts(guards: readonly WireInstruction[], source: number | undefined): void {
  for (const guard of guards) {
    const [account, ...more] = guard.accounts;
    const own = account === 1 || (account !== undefined && account === source);
    if (more.length === 0 && (own || (account === 0 && OF_ACCOUNTS.includes(kindOf(guard))))) continue;
    throw relayRefused(
      RELAY_REFUSALS.GUARD_ACCOUNT,
      "a Lighthouse instruction must look at one account, the payer's wallet or its USDC account (kinds 5 and 6 also at the fee payer); others can change at any time",
    );
  }
}

function kindOf({ data }: WireInstruction): number {
  return data[0] ?? 0;
}
