import { beforeEach, describe, expect, it } from "vitest";
import { FinalityTracker } from "../../../src/app/jobs/finality-tracker.ts";
import { newSettledTransactions } from "../../../src/app/jobs/record-history.ts";
import { rescanHistory, watchTreasury } from "../../../src/app/jobs/reconciliation.ts";
import { Crash } from "./memory-treasury.ts";
import { setScene, type Scene } from "./fixture.ts";

/**
 * A process that dies before or after anything it does, at each place in turn; then another one does the
 * work.
 */
let scene: Scene;
beforeEach(() => {
  scene = setScene();
});

/** The final state, to the micro-USD. */
const books = ({ ledger }: Scene) => ({
  state: ledger.state,
  recorded: [...ledger.recorded.keys()].toSorted(),
  balances: [...ledger.balances],
  payments: [...ledger.payments.values()].toSorted((a, b) => a.reference.localeCompare(b.reference)),
  // No movement is booked twice.
  booked: ledger.reported
    .filter(([, recorded]) => recorded !== "known")
    .map(([tx]) => tx)
    .toSorted(),
});

/** Like {@link Scene}, but with an account and quotes that stay the same from one scene to the next. */
function sceneOf(
  first: Scene,
  memos: readonly string[],
  land: (scene: Scene, memos: readonly string[]) => void,
): Scene {
  const { quotes, deposits, accountId } = first;
  const next = { ...setScene(), quotes, deposits, accountId };
  land(next, memos);
  return next;
}

function land({ chain, ledger, accountId }: Scene, memos: readonly string[]): void {
  chain.land("opening", 50n, { slot: 100n });
  chain.land("paid", 1_000n, { memo: memos[0] });
  chain.land("proved", 400n);
  chain.land("dust", 0n);
  chain.land("memoless", 7n);
  chain.land("deposit", 70n, { memo: memos[2] });
  chain.land("more of it", 3n, { memo: memos[2] });
  chain.land("out", -300n);
  chain.land("vanished before", 60n);
  for (let n = 0; n < 10; n++) chain.land(`many${n}`, 1n, { memo: memos[1], slot: 2_000n });
  ledger.credit(accountId, { reference: "proved", slot: 1_002n, amount: 400n });
  ledger.credit(accountId, { reference: "vanished before", slot: 1_006n, amount: 60n });
  ledger.credit(accountId, { reference: "gone", slot: 1_003n, amount: 30n });
  ledger.credit(accountId, { reference: "rooted", slot: 1_003n, amount: 20n });
  chain.standing.set("gone", "vanished").set("rooted", "finalized").set("proved", "pending");
}

type Work = (scene: Scene) => Promise<void>;

/** One run of a leader, in a fresh process each time. */
const look: Work = async (scene) => {
  const process = { ...scene, settled: newSettledTransactions() };
  await watchTreasury(process, scene.signal);
  await new FinalityTracker(process).run(scene.signal);
};

/** Less frequent jobs. */
const lookTwice: Work = async (scene) => {
  await look(scene);
  await rescanHistory({ ...scene, settled: newSettledTransactions() }, { firstEndpoint: 1 }, scene.signal);
};

const dies = (working: Promise<void>) =>
  working.then(
    () => false,
    (error: unknown) => {
      const causes: unknown[] = error instanceof AggregateError ? error.errors : [error];
      if (!causes.every((cause) => cause instanceof Crash)) throw error;
      return true;
    },
  );

describe.each([
  ["looks", look],
  ["looks and looks again", lookTwice],
])("a leader that %s", (_what, work) => {
  it("leaves the same ledger state to the next leader when it dies at any step", async () => {
    const memos = [scene.memo(), scene.memo(), scene.depositMemo()];
    const undisturbed = sceneOf(scene, memos, land);
    await work(undisturbed);
    const steps = undisturbed.steps.taken;
    expect(steps).toBeGreaterThan(60);
    for (let step = 1; step <= steps; step++) {
      const disturbed = sceneOf(scene, memos, land);
      disturbed.steps.dieAt(step);
      expect(await dies(work(disturbed)), `dies at step ${step}`).toBe(true);
      disturbed.steps.dieAt(Number.POSITIVE_INFINITY);
      await work(disturbed);
      expect(books(disturbed), `after a death at step ${step}`).toEqual(books(undisturbed));
    }
  });

  it("reaches the same ledger state as two concurrent leaders", async () => {
    const memos = [scene.memo(), scene.memo(), scene.depositMemo()];
    const alone = sceneOf(scene, memos, land);
    await work(alone);
    const together = sceneOf(scene, memos, land);
    await Promise.all([work(together), work(together), work(together)]);
    expect(books(together)).toEqual(books(alone));
  });
});
