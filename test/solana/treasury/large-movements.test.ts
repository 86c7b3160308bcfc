import { afterEach, describe, expect, it } from "vitest";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { SolanaTreasury } from "../../../src/solana/treasury/treasury-chain.ts";
import { patient } from "../network.ts";
import { ScriptedNode } from "../scripted-node.ts";
import { json, moved, OTHER_QUOTE, memo, QUOTE, RULES, TX } from "../transaction-fixture.ts";

const LARGE = 50_000_000n;
const nodes: ScriptedNode[] = [];
const errors: string[] = [];
const log = {
  info: () => {},
  warn: () => {},
  error: (_: object, message: string) => void errors.push(message),
};
afterEach(() => {
  for (const node of nodes.splice(0)) node.close();
  errors.splice(0);
});

const pays = (amount: bigint, quote = QUOTE) =>
  json({ instructions: [memo(`svc:${quote}`)], ...moved(amount) });

/** Reads the movement through nodes with these responses; a throwing one is unavailable. */
async function readMovement(...answers: (() => unknown)[]) {
  for (const answer of answers) nodes.push(await ScriptedNode.start(answer));
  const urls = nodes.map(({ url }) => url);
  const rpc = new SolanaRpc(urls, { clock: Date, log, attemptMs: 1_000 });
  const treasury = new SolanaTreasury({ rpc, ...RULES, finalizedAbove: LARGE, log });
  return treasury.movement(TX, patient());
}

const broken = () => {
  throw new Error("broken");
};
const asked = () => nodes.map(({ calls }) => calls.length);

describe("a large payment without a proof", () => {
  it("is accepted when a second endpoint confirms it", async () => {
    const movement = await readMovement(
      () => pays(LARGE),
      () => pays(LARGE),
      () => pays(LARGE),
    );
    expect(movement).toMatchObject({ change: LARGE, memo: `svc:${QUOTE}` });
    expect(asked()).toEqual([1, 1, 0]);
  });

  it.each([
    ["a payment", QUOTE],
    ["a deposit", `dep_${"0".repeat(32)}`],
  ])("waits while the others do not know it: one endpoint could invent %s", async (_what, named) => {
    await expect(
      readMovement(
        () => pays(LARGE, named),
        () => null,
      ),
    ).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(errors).toEqual([]);
  });

  it("is accepted when one of the others confirms it and another does not know it", async () => {
    const movement = await readMovement(
      () => pays(LARGE),
      () => null,
      () => pays(LARGE),
    );
    expect(movement).toMatchObject({ change: LARGE });
  });

  it.each([
    ["amount", () => pays(LARGE - 1n)],
    ["memo", () => pays(LARGE, OTHER_QUOTE)],
    ["outcome", () => json({ err: "AccountInUse", ...moved(0n) })],
  ])("waits for the operator when another endpoint reports another %s", async (_what, other) => {
    await expect(readMovement(() => pays(LARGE), other)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(errors).toEqual(["Solana RPC endpoints disagree on a transaction"]);
  });

  it("is accepted when no other endpoint answers or exists, so that an outage blocks no credit", async () => {
    expect(await readMovement(() => pays(LARGE), broken)).toMatchObject({ change: LARGE });
    nodes.splice(0).forEach((node) => node.close());
    expect(await readMovement(() => pays(LARGE))).toMatchObject({ change: LARGE });
  });
});

it("queries small payments, and movements that credit no account, once", async () => {
  expect(await readMovement(() => pays(LARGE - 1n), broken)).toMatchObject({ change: LARGE - 1n });
  expect(asked()).toEqual([1, 0]);
  nodes.splice(0).forEach((node) => node.close());
  expect(await readMovement(() => json({ instructions: [], ...moved(LARGE) }), broken)).toMatchObject({
    change: LARGE,
  });
  expect(asked()).toEqual([1, 0]);
});
