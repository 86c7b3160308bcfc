import { RELAY_REFUSALS, relayRefused } from "../../domain/relay-refusal.ts";
import { MOST_GUARDS } from "./limits.ts";
import { LIGHTHOUSE_PROGRAM } from "./programs.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/**
 * First bytes of Lighthouse's instructions that look at accounts and at the clock, and at nothing else: AssertAccountData to
 * AssertSysvarClock. 0 (MemoryWrite) makes accounts at the cost of a signer, 1 (MemoryClose) closes them, 16 (AssertMerkleTreeAccount)
 * calls another program; 17 (AssertBubblegumTreeConfigAccount) no payment has a use for.
 */
const [FIRST_ASSERTION, LAST_ASSERTION] = [2, 15];

/** Whether an instruction belongs to Lighthouse, whatever it does there. */
export function isGuard({ program }: WireInstruction, keys: readonly Buffer[]): boolean {
  return keys[program]?.equals(LIGHTHOUSE_PROGRAM) === true;
}

/**
 * Takes out the guards that wallets put in, wherever they are, before the payment's own instructions are counted: they can make a
 * transaction fail, and change nothing.
 * @returns the other instructions, in their order, and how many guards there were
 */
export function withoutGuards(
  instructions: readonly WireInstruction[],
  keys: readonly Buffer[],
): { guards: number; rest: WireInstruction[] } {
  const rest = instructions.filter((instruction) => !isGuard(instruction, keys));
  const guards = instructions.filter((instruction) => isGuard(instruction, keys));
  if (guards.length > MOST_GUARDS) {
    throw relayRefused(
      RELAY_REFUSALS.GUARD_COUNT,
      `the transaction has ${guards.length} Lighthouse instructions, at most ${MOST_GUARDS} are relayed; sign it with a wallet that adds fewer`,
    );
  }
  for (const { data } of guards) {
    const kind = data[0] ?? 0;
    if (kind >= FIRST_ASSERTION && kind <= LAST_ASSERTION) continue;
    throw relayRefused(
      RELAY_REFUSALS.GUARD_KIND,
      `a Lighthouse instruction is of kind ${kind}; only assertions about accounts are relayed (kinds ${FIRST_ASSERTION} to ${LAST_ASSERTION})`,
    );
  }
  return { guards: guards.length, rest };
}
