import { beforeEach, describe, expect, it } from "vitest";
import { watchTreasury } from "../../../src/app/jobs/reconciliation.ts";
import { cellOf } from "../../../src/domain/core/ids.ts";
import { INSTALLED, LOOKED } from "./memory-treasury.ts";
import { setScene, type Scene } from "./fixture.ts";

let scene: Scene;
beforeEach(() => {
  scene = setScene();
});

const look = () => watchTreasury(scene, scene.signal);

describe("the first run of the watch", () => {
  it("assigns the balance before the installation to the operator and records everything after it", async () => {
    scene.chain.land("old", 700n, { slot: 100n });
    scene.chain.land("older than the drift of clocks", 5n, { slot: 699n });
    scene.chain.land("within it", 20n, { slot: 700n });
    scene.chain.land("later", 300n, { memo: scene.memo() });
    const news = await look();
    expect(scene.chain.asked[0]?.fromTime).toEqual(new Date(INSTALLED.getTime() - 300_000));
    expect(scene.ledger.state).toMatchObject({ opening: 705n, expected: 1_025n, slot: 1_001n });
    expect(news.map(({ entry, recorded }) => [entry.txSignature, recorded])).toEqual([
      ["within it", "suspended"],
      ["later", "credited"],
    ]);
  });

  it("starts at zero when the account is younger than the installation", async () => {
    scene.chain.land("first", 300n);
    await look();
    expect(scene.ledger.state).toMatchObject({ opening: 0n, expected: 300n });
  });

  it("derives the opening balance when the node keeps nothing from before the installation", async () => {
    scene.chain.land("old", 700n, { slot: 100n });
    scene.chain.leftOut.set(0, new Set(["old"]));
    scene.chain.land("first", 300n, { memo: scene.memo() });
    await look();
    expect(scene.ledger.state).toMatchObject({ opening: 700n, expected: 1_000n });
    expect(scene.ledger.balances.get(scene.accountId)).toBe(300n);
  });

  it("starts on an account without any history", async () => {
    expect(await look()).toEqual([]);
    expect(scene.ledger.state).toMatchObject({ opening: 0n, expected: 0n, slot: 0n });
  });
});

describe("recordHistory", () => {
  it("holds a transfer with another cell's quote in suspense, and logs that cell", async () => {
    scene.chain.land("foreign", 1_000n, { memo: scene.memo(cellOf(7)) });
    const [news] = await look();
    expect(news?.recorded).toBe("suspended");
    expect(scene.ledger.balances.get(scene.accountId)).toBeUndefined();
    expect(scene.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", details: expect.objectContaining({ cell: 7 }) }),
    );
  });

  it("credits a payment whose memo has the quote's step", async () => {
    scene.chain.land("tx", 9n, { memo: `step_${"0".repeat(32)}:${scene.memo().slice(4)}:n` });
    expect((await look()).map(({ recorded }) => recorded)).toEqual(["credited"]);
    expect(scene.ledger.balances.get(scene.accountId)).toBe(9n);
  });

  it("credits a payment whose quote has expired", async () => {
    const memo = scene.memo();
    scene.chain.land("late", 1_000n, { memo, slot: 100_000n });
    expect((await look())[0]?.recorded).toBe("credited");
  });

  it("marks a proved payment as finalized without fetching it", async () => {
    await look();
    scene.ledger.credit(scene.accountId, { reference: "proved", slot: 1_001n, amount: 400n });
    scene.chain.land("proved", 400n);
    expect((await look())[0]?.recorded).toBe("finalized");
    expect(scene.chain.fetched).toEqual([]);
    expect(scene.metrics.values.get("payments_finalized_total")).toBe(1);
    expect(scene.ledger.balances.get(scene.accountId)).toBe(400n);
  });
});

describe("later runs of the watch", () => {
  it("records each movement once and oldest first, including late ones of a known slot", async () => {
    scene.chain.land("a", 1n, { slot: 2_000n });
    scene.chain.land("b", 2n, { slot: 2_001n });
    await look();
    scene.chain.land("c", 4n, { slot: 2_001n });
    scene.chain.land("d", 8n, { slot: 2_005n });
    await look();
    await look();
    expect(scene.ledger.reported).toEqual(["a", "b", "c", "d"].map((tx) => [tx, "suspended"]));
    expect(scene.ledger.state).toMatchObject({ slot: 2_005n, expected: 15n });
  });

  it("fetches at most eight transactions at once", async () => {
    for (let n = 0; n < 50; n++) scene.chain.land(`tx${n}`, 1n);
    await look();
    expect(scene.chain.atOnce).toBe(8);
    expect(scene.ledger.reported.map(([tx]) => tx)).toEqual(Array.from({ length: 50 }, (_, n) => `tx${n}`));
  });

  it("fetches a transaction that only names the treasury once, and failed ones never", async () => {
    await look();
    scene.chain.land("failed", 0n, { slot: 2_000n, failed: true });
    for (let n = 0; n < 20; n++) scene.chain.land(`dust${n}`, 0n, { slot: 2_000n });
    await look();
    expect(scene.chain.fetched).toHaveLength(20);
    const { questions } = scene.ledger;
    for (let n = 0; n < 5; n++) await look();
    expect(scene.chain.fetched).toHaveLength(20);
    expect(scene.ledger.questions).toBe(questions);
    expect(scene.ledger.reported).toEqual([]);
  });

  it("fetches such a transaction again in a new process, and loses nothing", async () => {
    await look();
    scene.chain.land("dust", 0n);
    await look();
    await watchTreasury({ ...scene, settled: setScene().settled }, scene.signal);
    expect(scene.chain.fetched).toEqual(["dust", "dust"]);
    expect(scene.ledger.reported).toEqual([]);
  });

  it("queries the recorded transactions once per run", async () => {
    scene.chain.land("a", 1n);
    await look();
    const process = { ...scene, settled: setScene().settled };
    const { questions } = scene.ledger;
    for (let n = 0; n < 5; n++) await watchTreasury(process, scene.signal);
    expect(scene.ledger.questions).toBe(questions + 1);
  });
});

describe("transactions that cannot be read or recorded", () => {
  it.each(["unreadable", "broken"] as const)(
    "do not advance the watch and do not block other credits: %s",
    async (how) => {
      scene.chain.land("start", 1n, { slot: 2_000n });
      await look();
      scene.chain.land("poison", 2n);
      scene.chain.land("good", 4n, { memo: scene.memo() });
      (how === "broken" ? scene.ledger.broken : scene.chain.unreadable).add("poison");
      await expect(look()).rejects.toThrow("1 of 2 new transactions could not be recorded");
      await expect(look()).rejects.toThrow("1 of 1 new transactions could not be recorded");
      expect(scene.ledger.balances.get(scene.accountId)).toBe(4n);
      expect(scene.ledger.state?.slot).toBe(2_000n);
      scene.ledger.broken.clear();
      scene.chain.unreadable.clear();
      expect((await look()).map(({ entry }) => entry.txSignature)).toEqual(["poison"]);
      expect(scene.ledger.state).toMatchObject({ slot: 2_002n, expected: 7n });
    },
  );

  it("advance the watch only up to the failure in a long backlog, without repeating earlier parts", async () => {
    scene.chain.land("start", 1n, { slot: 1_001n });
    for (let n = 0; n < 2_500; n++) scene.chain.land(`spam${n}`, 0n, { slot: 2_000n + BigInt(n) });
    scene.chain.land("good", 4n, { memo: scene.memo() });
    scene.chain.unreadable.add("spam2200");
    await expect(look()).rejects.toThrow("1 of 502 new transactions could not be recorded");
    expect(scene.ledger.balances.get(scene.accountId)).toBe(4n);
    // The last of the second thousand; and the head of the history was not reached.
    expect(scene.ledger.state).toMatchObject({ slot: 3_998n, checkedAt: INSTALLED });
    scene.chain.unreadable.clear();
    await look();
    expect(scene.ledger.state).toMatchObject({ slot: 4_500n, checkedAt: LOOKED });
  });

  it("stop on abort and do not advance the watch", async () => {
    scene.chain.land("a", 1n);
    const stop = new AbortController();
    const stopped = watchTreasury(scene, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    expect(scene.ledger.state?.slot ?? 0n).toBe(0n);
  });
});
