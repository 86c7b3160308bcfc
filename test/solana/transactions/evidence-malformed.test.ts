import { describe, expect, it } from "vitest";
import { MalformedAnswer, malformation } from "../../../src/solana/rpc/rpc-failure.ts";
import { judgeTransaction } from "../../../src/solana/transactions/transaction-evidence.ts";
import * as fixture from "../transaction-fixture.ts";

const { AMOUNT, PAYER, PAYER_TOKENS, RULES, TREASURY, TX } = fixture;
const { address, balance, moved, signature } = fixture;
type ChainAnswer = ReturnType<typeof fixture.json>;

/** Expects a one-line MalformedAnswer instead of a verdict. */
function expectNoVerdict(result: unknown): void {
  let thrown: unknown;
  try {
    judgeTransaction(TX, result, RULES);
  } catch (error) {
    thrown = error;
  }
  expect(malformation(thrown)).toEqual(expect.stringMatching(/^.+$/));
}

function reported(change: (json: ChainAnswer) => unknown, draft: Partial<fixture.Draft> = {}): unknown {
  return change(fixture.json(draft));
}

describe("a malformed response is no verdict", () => {
  it.each([[undefined], ["transaction"], [[]], [42], [{}], [{ slot: 1 }]])("rejects %j", (result) =>
    expectNoVerdict(result),
  );

  it("rejects a response about another transaction", () =>
    expectNoVerdict(fixture.json({ signatures: [signature()] })));

  it("rejects a response without meta", () => expectNoVerdict(reported((json) => ({ ...json, meta: null }))));

  it("rejects a response without the transaction's status", () => {
    expectNoVerdict(reported(({ meta: { err: _err, ...meta }, ...json }) => ({ ...json, meta })));
    expectNoVerdict(fixture.json({ err: false }));
  });

  it("rejects a version that was not requested", () => expectNoVerdict(fixture.json({ version: 2 })));

  it("rejects an unknown blockTime", () => expectNoVerdict(fixture.json({ blockTime: null })));

  it.each([-1, 253_402_300_800, Number.MAX_SAFE_INTEGER, 1.5])(
    "rejects an invalid blockTime: %d",
    (blockTime) => {
      expectNoVerdict(fixture.json({ blockTime }));
    },
  );

  it("rejects a response without token balances", () => {
    expectNoVerdict(fixture.json({ pre: null }));
    expectNoVerdict(fixture.json({ post: null }));
  });

  it("rejects a treasury balance without owner or program", () => {
    const { pre, post } = moved(AMOUNT);
    const spoil = (wrong: object) =>
      pre && pre.map((each) => (each.account === TREASURY.tokenAccount ? { ...each, ...wrong } : each));
    expectNoVerdict(fixture.json({ pre: spoil({ owner: undefined }), post }));
    expectNoVerdict(fixture.json({ pre: spoil({ programId: undefined }), post }));
  });

  it("rejects two balances of the treasury", () => {
    const { pre, post } = moved(AMOUNT);
    expectNoVerdict(fixture.json({ pre, post: [...(post ?? []), balance(TREASURY.tokenAccount, "1")] }));
    expectNoVerdict(fixture.json({ pre: [...(pre ?? []), balance(TREASURY.tokenAccount, "1")], post }));
  });

  it.each([
    ["-1"],
    ["1e6"],
    ["01"],
    ["1.0"],
    [""],
    [" 1"],
    ["0x10"],
    [10_000],
    [(2n ** 64n).toString()],
    ["9".repeat(21)],
  ])("rejects the amount %j", (amount) => {
    const pre = [balance(PAYER_TOKENS, "1"), balance(TREASURY.tokenAccount, amount)];
    expectNoVerdict(fixture.json({ ...moved(AMOUNT), pre }));
  });

  it("rejects missing, surplus or unrequested lookup addresses", () => {
    const lookedUp = { writable: [TREASURY.tokenAccount], readonly: [address()] };
    const loaded = (loadedAddresses: unknown) =>
      reported((json) => ({ ...json, meta: { ...json.meta, loadedAddresses } }), { lookedUp });
    expectNoVerdict(loaded(undefined));
    expectNoVerdict(loaded({ ...lookedUp, writable: [] }));
    expectNoVerdict(loaded({ ...lookedUp, readonly: [] }));
    expectNoVerdict(loaded({ ...lookedUp, readonly: [...lookedUp.readonly, address()] }));
    expectNoVerdict(loaded({ writable: [], readonly: [TREASURY.tokenAccount, ...lookedUp.readonly] }));
    const { meta, ...json } = fixture.json();
    expectNoVerdict({ ...json, meta: { ...meta, loadedAddresses: { writable: [address()], readonly: [] } } });
  });

  it("rejects a list that names the treasury twice", () => {
    const { transaction, ...json } = fixture.json();
    const accountKeys = [...transaction.message.accountKeys, TREASURY.tokenAccount];
    const message = { ...transaction.message, accountKeys };
    expectNoVerdict({ ...json, transaction: { ...transaction, message } });
  });

  it.each([
    ["whose program is missing", { programIdIndex: 99 }],
    ["with data that is not base58", { data: "0OIl" }],
  ])("rejects instructions %s", (_what, change) => {
    const { transaction, ...json } = fixture.json();
    const instructions = transaction.message.instructions.map((each) => ({ ...each, ...change }));
    const message = { ...transaction.message, instructions };
    expectNoVerdict({ ...json, transaction: { ...transaction, message } });
  });

  it("rejects a response without the inner instructions that may hold the transfers", () => {
    const router = { program: address(), accounts: [PAYER, TREASURY.tokenAccount], data: Buffer.of(1) };
    expectNoVerdict(
      fixture.json({ instructions: [router, fixture.memo(`svc:${fixture.QUOTE}`)], inner: null }),
    );
  });

  it("throws our own programming errors unchanged", () => {
    expect(malformation(new TypeError("undefined is not a function"))).toBeUndefined();
    expect(malformation(new MalformedAnswer("x".repeat(500)))).toHaveLength(200);
  });
});
