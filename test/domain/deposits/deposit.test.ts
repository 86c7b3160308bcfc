import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bestMatch,
  matchDeposit,
  depositStatus,
  type Candidate,
  type Deposit,
  type DepositMatch,
  type Stage,
} from "../../../src/domain/deposits/deposit.ts";
import { depositMemo, parseMemo } from "../../../src/domain/payments/memo.ts";
import { solanaPayUrl } from "../../../src/domain/deposits/solana-pay.ts";
import { parseTransferRequest } from "../../crediting/solana-pay.ts";

const ADDRESS = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const ID = `dep_${"0".repeat(32)}`;
const MEMO = depositMemo(ID, "svc");
const waiting: Deposit = {
  depositId: ID,
  accountId: `acct_${"0".repeat(32)}`,
  amount: 10_000n,
  reference: ADDRESS,
  txSignature: undefined,
  createdAt: new Date(0),
  credited: 0n,
  creditedAt: undefined,
  creditedBy: undefined,
  cancelledAt: undefined,
};
const found = (stage: Stage, failure?: string): Candidate => ({ txSignature: "tx", stage, failure });

describe("a deposit memo", () => {
  it("names the deposit after the operator's prefix, and no quote", () => {
    expect(parseMemo(MEMO, "svc")).toEqual({ form: "deposit", depositId: ID });
    expect(parseMemo(MEMO, "acme")).toBeUndefined();
  });

  it.each([
    `svc:${ID} `,
    `svc:${ID}0`,
    `svc:${ID.slice(0, -1)}`,
    `svc:${ID.slice(0, -1)}A`,
    `svc:${ID}:1`,
    ID,
    `SVC:${ID}`,
  ])("rejects %j as a memo", (text) => expect(parseMemo(text, "svc")).toBeUndefined());
});

describe("a transaction with a deposit's reference", () => {
  const by = { memo: MEMO, sent: false };
  const reported = (change: bigint, memo: string | undefined) => ({ change, memo });

  it.each([
    ["pays it with its memo", found("finalized"), reported(5n, MEMO), { kind: "pays", stage: "finalized" }],
    ["is a stray without", found("confirmed"), reported(5n, undefined), { kind: "stray", elsewhere: false }],
    ["is a stray with another", found("seen"), reported(5n, "svc:qt_1"), { kind: "stray", elsewhere: true }],
    ["failed as it", found("confirmed", "no"), reported(0n, MEMO), { kind: "failed", failure: "no" }],
    ["failed as something else", found("confirmed", "no"), reported(0n, undefined), undefined],
    ["pays nothing", found("finalized"), reported(0n, MEMO), undefined],
    ["takes money out", found("finalized"), reported(-5n, MEMO), undefined],
    ["cannot be read yet", found("confirmed"), undefined, undefined],
  ] as const)("%s", (_what, candidate, reading, match) => {
    const judged = matchDeposit(candidate, reading, by);
    if (match === undefined) expect(judged).toBeUndefined();
    else expect(judged).toMatchObject(match);
  });

  it("is seen but undecided while it cannot be read and was sent by us", () => {
    expect(matchDeposit(found("finalized"), undefined, { memo: MEMO, sent: true })).toMatchObject({
      stage: "seen",
    });
  });
});

describe("the status of a deposit", () => {
  const match = fc.oneof(
    fc.constantFrom(null, undefined),
    fc.record({
      txSignature: fc.constantFrom("a", "b"),
      stage: fc.constantFrom("seen", "confirmed", "finalized" as const),
      kind: fc.constantFrom("pays", "stray", "failed" as const),
      failure: fc.constant(undefined),
    }),
  );

  it("is credited exactly when the ledger says so", () => {
    fc.assert(
      fc.property(match, fc.bigInt({ min: 0n, max: 9n }), (seen, credited) => {
        const { state, failure } = depositStatus({ ...waiting, credited, creditedBy: "c" }, seen);
        expect(state === "credited").toBe(credited > 0n);
        if (credited > 0n) expect(failure).toBeUndefined();
      }),
    );
  });

  it("is cancelled only while nothing was paid", () => {
    const cancelled = { ...waiting, cancelledAt: new Date(1) };
    const states = [
      null,
      undefined,
      { ...found("finalized", "no"), kind: "failed" },
      { ...found("seen"), kind: "pays" },
    ] as const;
    expect(states.map((seen) => depositStatus(cancelled, seen).state)).toEqual([
      "cancelled",
      "cancelled",
      "cancelled",
      "seen",
    ]);
    expect(depositStatus({ ...cancelled, credited: 1n }, null).state).toBe("credited");
  });

  it("comes from the transaction that is furthest", () => {
    const one = (kind: DepositMatch["kind"], stage: Stage): DepositMatch => ({ ...found(stage), kind });
    const all = [
      one("failed", "finalized"),
      one("stray", "finalized"),
      one("pays", "confirmed"),
      one("pays", "seen"),
    ];
    expect(bestMatch(all)).toBe(all[2]);
    expect(bestMatch(all.toReversed())).toBe(all[2]);
    expect(bestMatch(all.slice(0, 2))).toBe(all[1]);
    expect(bestMatch([])).toBeUndefined();
  });

  it("is waiting after an empty poll, even if a transaction was seen before", () => {
    const seen = { ...waiting, txSignature: "tx" };
    expect(depositStatus(seen, null)).toMatchObject({ state: "waiting", txSignature: "tx" });
    expect(depositStatus(seen, undefined)).toMatchObject({ state: "seen", txSignature: "tx" });
    expect(depositStatus(waiting, undefined).state).toBe("waiting");
  });
});

describe("a transfer request", () => {
  const fields = { recipient: ADDRESS, splToken: ADDRESS, reference: ADDRESS };

  it("contains the exact amount and every text unchanged", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 53n }),
        fc.string({ unit: "grapheme" }).map((text) => text.toWellFormed()),
        (amount, memo) => {
          const url = solanaPayUrl({ ...fields, amount, label: "A & B", message: "50 % = ½?", memo });
          const read = parseTransferRequest(url);
          expect([read.units(6), read.memo]).toEqual([amount, memo]);
        },
      ),
    );
  });
});
