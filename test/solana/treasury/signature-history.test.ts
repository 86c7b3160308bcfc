import { afterEach, describe, expect, it } from "vitest";
import type { HistoryEntry } from "../../../src/app/treasury/treasury-ledger.ts";
import { SolanaRpc } from "../../../src/solana/rpc/rpc.ts";
import { SolanaTreasury } from "../../../src/solana/treasury/treasury-chain.ts";
import { patient } from "../network.ts";
import { ScriptedNode, type Call } from "../scripted-node.ts";
import * as fixture from "../transaction-fixture.ts";

const log = { info: () => {}, warn: () => {}, error: () => {} };
const nodes: ScriptedNode[] = [];
afterEach(() => {
  for (const node of nodes.splice(0)) node.close();
});

/** An entry as `getSignaturesForAddress` answers it. */
interface Entry {
  signature: string;
  slot: number;
  blockTime: number | null;
  err: unknown;
  memo: string | null;
  confirmationStatus: string | null;
}

/** When the first entry's block was made, Unix seconds; each entry is a second later than the one before. */
const START = 1_790_000_000;
const FIRST_SLOT = 1_000;

/** A history of that many transactions, newest first, three of them in each slot. */
function history(count: number): Entry[] {
  const reported = (age: number): Entry => ({
    signature: fixture.signature(),
    slot: FIRST_SLOT + Math.floor(age / 3),
    blockTime: START + Math.floor(age / 3),
    err: null,
    memo: null,
    confirmationStatus: "finalized",
  });
  return Array.from({ length: count }, (_none, index) => reported(count - 1 - index));
}

/** Pages a history as a node does. */
function page(all: readonly Entry[], { params }: Call): Entry[] {
  const { before, limit } = params[1] as { before?: string; limit: number };
  const from = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1;
  return before !== undefined && from === 0 ? [] : all.slice(from, from + limit);
}

/** Other responses of a node: it keeps everything. */
function otherMethods({ method }: Call): unknown {
  if (method === "getFirstAvailableBlock") return 0;
  throw new Error(`unexpected ${method}`);
}

type Script = (call: Call, count: number) => unknown;

/** A node whose pages come from the script, which receives the request count. */
async function nodeOf(script: Script, rest = otherMethods): Promise<ScriptedNode> {
  let count = 0;
  const node = await ScriptedNode.start((call) =>
    call.method === "getSignaturesForAddress" ? script(call, count++) : rest(call),
  );
  nodes.push(node);
  return node;
}

function watch(...through: ScriptedNode[]): SolanaTreasury {
  const urls = through.map(({ url }) => url);
  const rpc = new SolanaRpc(urls, { clock: Date, log, attemptMs: 30_000 });
  return new SolanaTreasury({ rpc, ...fixture.RULES, finalizedAbove: 50_000_000n, log });
}

const ALL = { fromSlot: 0n, fromTime: new Date(0), firstEndpoint: 0 };
const read = (treasury: SolanaTreasury, query: Partial<typeof ALL> = {}) =>
  treasury.history({ ...ALL, ...query, signal: patient() });
const signatures = (entries: readonly (HistoryEntry | Entry)[]) =>
  entries.map((entry) => ("signature" in entry ? entry.signature : entry.txSignature));
const pages = ({ calls }: ScriptedNode) => calls.filter(({ method }) => method === "getSignaturesForAddress");

describe("the finalized history", () => {
  it("is complete over all pages, oldest first", async () => {
    const all = history(2_500);
    const node = await nodeOf((call) => page(all, call));
    const { entries, before } = await read(watch(node));
    expect(signatures(entries)).toEqual(signatures(all.toReversed()));
    expect(before).toBeUndefined();
    expect(pages(node)[0]?.params).toEqual([
      fixture.TREASURY.tokenAccount,
      { limit: 50, commitment: "finalized" },
    ]);
    expect(pages(node)[1]?.params).toMatchObject([fixture.TREASURY.tokenAccount, { limit: 1_000 }]);
    expect(pages(node).every(({ params }) => !("until" in (params[1] as object)))).toBe(true);
  });

  it("contains slot, time and failure of each entry, without unknown times", async () => {
    const [one, other] = history(2) as [Entry, Entry];
    const node = await nodeOf((call) =>
      page(
        [
          { ...one, err: { InstructionError: [0, { Custom: 1 }] } },
          { ...other, blockTime: null },
        ],
        call,
      ),
    );
    expect((await read(watch(node))).entries).toEqual([
      { txSignature: other.signature, slot: BigInt(other.slot), blockTime: undefined, failed: false },
      {
        txSignature: one.signature,
        slot: BigInt(one.slot),
        blockTime: new Date(START * 1_000),
        failed: true,
      },
    ]);
  });

  it.each([[1], [2], [49], [50], [51], [1_048], [1_049], [1_050]])(
    "of %d transactions is complete",
    async (count) => {
      const all = history(count);
      const node = await nodeOf((call) => page(all, call));
      expect(signatures((await read(watch(node))).entries)).toEqual(signatures(all.toReversed()));
    },
  );

  it("is complete whatever strangers write into their memos", async () => {
    // A memo that fills a transaction, of characters that JSON writes with six.
    const memo = `[1031] ${"\u0001".repeat(1_031)}`;
    const all = history(1_050).map((entry) => ({ ...entry, memo }));
    const node = await nodeOf((call) => page(all, call));
    expect(signatures((await read(watch(node))).entries)).toEqual(signatures(all.toReversed()));
  });

  it("starts at a slot inclusively and names the entry before it", async () => {
    const all = history(30);
    const node = await nodeOf((call) => page(all, call));
    const { entries, before } = await read(watch(node), { fromSlot: BigInt(FIRST_SLOT + 8) });
    expect(signatures(entries)).toEqual(signatures(all.slice(0, 6).toReversed()));
    expect(before?.txSignature).toBe(all[6]?.signature);
    expect(node.calls).toHaveLength(1);
  });

  it("starts at a time; the later of two bounds counts", async () => {
    const all = history(30);
    const node = await nodeOf((call) => page(all, call));
    const fromTime = new Date((START + 8) * 1_000);
    for (const fromSlot of [0n, BigInt(FIRST_SLOT + 3), BigInt(FIRST_SLOT + 8)]) {
      const { entries, before } = await read(watch(node), { fromTime, fromSlot });
      expect(signatures(entries)).toEqual(signatures(all.slice(0, 6).toReversed()));
      expect(before?.txSignature).toBe(all[6]?.signature);
    }
    const { entries } = await read(watch(node), { fromTime, fromSlot: BigInt(FIRST_SLOT + 9) });
    expect(entries).toHaveLength(3);
  });

  it("compares entries without a time by their slot", async () => {
    const all = history(30).map((entry) => ({ ...entry, blockTime: null }));
    const node = await nodeOf((call) => page(all, call));
    const query = { fromTime: new Date((START + 9) * 1_000), fromSlot: BigInt(FIRST_SLOT + 5) };
    expect((await read(watch(node), query)).entries).toHaveLength(15);
  });

  it("is empty when every entry precedes the bound", async () => {
    const all = history(3);
    const node = await nodeOf((call) => page(all, call));
    const { entries, before } = await read(watch(node), { fromSlot: 2_000n });
    expect(entries).toEqual([]);
    expect(before?.txSignature).toBe(all[0]?.signature);
  });

  it("comes from the endpoint of firstEndpoint", async () => {
    const [mine, yours] = [history(3), history(4)];
    const [one, other] = [
      await nodeOf((call) => page(mine, call)),
      await nodeOf((call) => page(yours, call)),
    ];
    const counts: number[] = [];
    for (const firstEndpoint of [0, 1, 2, 3])
      counts.push((await read(watch(one, other), { firstEndpoint })).entries.length);
    expect(counts).toEqual([3, 4, 3, 4]);
  });

  it("ends with the caller", async () => {
    const gone = new Error("gone");
    const leaving = new AbortController();
    const node = await nodeOf((call, count) => {
      if (count === 1) leaving.abort(gone);
      return page(history(1_000), call);
    });
    const reading = watch(node, node).history({ ...ALL, signal: leaving.signal });
    await expect(reading).rejects.toBe(gone);
  });
});

describe("a node with an incomplete history", () => {
  const all = history(1_500);
  const honest: Script = (call) => page(all, call);
  const [newest = fixture.signature()] = signatures(all);

  const WRONG: [string, Script][] = [
    ["fails in the middle", (call, count) => (count === 0 ? page(all, call) : fail())],
    ["loses its place", (call, count) => (count === 0 ? page(all, call) : [])],
    ["ignores `before`", (_call, count) => (count < 5 ? all.slice(0, 1_000) : fail())],
    [
      "goes back to its first page",
      (call, count) => (count < 2 ? page(all, call) : [all[1_499], ...all.slice(0, 9)]),
    ],
    ["leaves the overlap out", (call, count) => page(all, call).slice(count === 0 ? 0 : 1)],
    ["tells the oldest first", (call) => page(all, call).toReversed()],
    ["disorders the slots", (call) => page(all.with(3, all[30] ?? fail()).with(30, all[3] ?? fail()), call)],
    [
      "tells what is not finalized",
      (call) => page(all, call).map((e) => ({ ...e, confirmationStatus: "confirmed" })),
    ],
    ["tells signatures that are none", (call) => page(all, call).map((e) => ({ ...e, signature: "1111" }))],
    ["leaves errors out", (call) => page(all, call).map(({ err: _err, ...entry }) => entry)],
    ["tells impossible slots", (call) => page(all, call).map((entry) => ({ ...entry, slot: -1 }))],
    [
      "answers more than it was asked for",
      (call, count) => (count === 0 ? all.slice(0, 1_001) : page(all, call)),
    ],
    ["answers null", () => null],
    // The account is open, so that there is at least the transaction which opened it.
    ["knows nothing", () => []],
  ];

  it.each(WRONG)("is replaced from the start by the next one when it %s", async (_what, script) => {
    const [wrong, right] = [await nodeOf(script), await nodeOf(honest)];
    expect(signatures((await read(watch(wrong, right))).entries)).toEqual(signatures(all.toReversed()));
    expect(pages(right)[0]?.params[1]).not.toHaveProperty("before");
    await expect(read(watch(await nodeOf(script)))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("is not believed about the start of the history when it keeps only recent days", async () => {
    const kept = (method: string) => (method === "getFirstAvailableBlock" ? FIRST_SLOT : START);
    const pruned = () => nodeOf(honest, ({ method }) => kept(method));
    const tooOld = [{ fromSlot: BigInt(FIRST_SLOT - 1) }, { fromTime: new Date((START - 1) * 1_000) }];
    for (const query of tooOld)
      await expect(read(watch(await pruned()), query)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    for (const query of [{ fromSlot: BigInt(FIRST_SLOT) }, { fromTime: new Date(START * 1_000) }])
      expect((await read(watch(await pruned()), query)).entries).toHaveLength(1_500);
    const unknown = await nodeOf(honest, ({ method }) =>
      method === "getFirstAvailableBlock" ? FIRST_SLOT : null,
    );
    await expect(read(watch(unknown), { fromTime: new Date() })).resolves.toBeDefined();
    await expect(read(watch(unknown))).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(read(watch(unknown, await nodeOf(honest)))).resolves.toHaveProperty("entries.length", 1_500);
  });

  it("counts a repeated entry once", async () => {
    const twice = all.toSpliced(3, 0, all[2] ?? fail());
    const node = await nodeOf((call) => page(twice, call).slice(0, 999));
    const { entries } = await read(watch(node));
    expect(entries.at(-1)?.txSignature).toBe(newest);
    expect(new Set(signatures(entries)).size).toBe(entries.length);
    expect(entries).toHaveLength(1_500);
  });
});

function fail(): never {
  throw new Error("the node is out");
}
