import { base58 } from "@scure/base";
import { Keypair, TransactionMessage, VersionedTransaction } from "@solana/web3.js";
import { beforeAll, describe, expect, it } from "vitest";
import type { Fault } from "../../../src/localchain/faults.ts";
import { SolanaRelayChain } from "../../../src/solana/payments/relay-chain.ts";
import { patient, useNetwork } from "../network.ts";

/** Chain queries of the relay: two nodes, of which either may fail, lag or lie. */
const net = useNetwork();
let feePayer: Keypair;
beforeAll(() => {
  feePayer = net.local.controls.createWallet({ lamports: 1_000_000_000n });
});

/** Attempts end soon, so that what hangs holds up no test. */
const relayChain = () => new SolanaRelayChain(net.openBoth({ attemptMs: 3_000 }).rpc);

/** A blockhash is good for 150 blocks. */
const blockHeight = () =>
  BigInt(net.local.chain.slots.lastValidBlockHeight(net.local.chain.slots.current) - 150);

/** A payment of the payer whose fee another account pays. */
function relayed({ amount = 10_000n, payer = net.payer, fees = feePayer } = {}) {
  const { slots } = net.local.chain;
  const blockhash = slots.blockhash(slots.current);
  const instructions = net.payment(amount).map((instruction) => {
    for (const key of instruction.keys)
      if (key.pubkey.equals(net.payer.publicKey)) key.pubkey = payer.publicKey;
    return instruction;
  });
  const message = new TransactionMessage({
    payerKey: fees.publicKey,
    recentBlockhash: blockhash,
    instructions,
  });
  const transaction = new VersionedTransaction(message.compileToV0Message());
  transaction.sign([fees, payer]);
  const bytes = transaction.serialize();
  const txSignature = base58.encode(bytes.subarray(1, 65));
  const lastValidBlockHeight = BigInt(slots.lastValidBlockHeight(slots.current));
  const query = () => ({ txSignature, lastValidBlockHeight, signal: patient() });
  return { bytes, txSignature, blockhash, lastValidBlockHeight, query };
}

const UNAVAILABLE = { code: "UNAVAILABLE" };
const FAULTS: readonly Fault[] = [
  { kind: "http", status: 503 },
  { kind: "rpc_error", code: -32005, message: "Node is behind" },
  { kind: "garbage" },
  { kind: "null" },
  { kind: "hang" },
];

describe("a blockhash", () => {
  it("is returned with its last block height and reused until then", async () => {
    const chain = relayChain();
    const { blockhash, lastValidBlockHeight } = await chain.latestBlockhash(patient());
    expect(await chain.blockhashStatus(blockhash, patient())).toEqual({
      valid: true,
      blockHeight: blockHeight(),
    });
    expect(lastValidBlockHeight).toBeGreaterThan(blockHeight());
    net.local.chain.advance(200);
    expect(await chain.blockhashStatus(blockhash, patient())).toEqual({
      valid: false,
      blockHeight: blockHeight(),
    });
  });

  it("is valid when one node knows it, up to that node's height", async () => {
    const { blockhash } = relayed();
    net.fail(net.first, "isBlockhashValid", {
      kind: "result",
      result: { context: { slot: 1 }, value: false },
    });
    net.fail(net.first, "getBlockHeight", { kind: "result", result: 5 });
    expect(await relayChain().blockhashStatus(blockhash, patient())).toEqual({
      valid: true,
      blockHeight: blockHeight(),
    });
  });

  it("is fetched from the next node when one fails", async () => {
    const { blockhash } = relayed();
    for (const fault of FAULTS) {
      net.fail(net.first, "*", fault);
      const chain = relayChain();
      expect(await chain.blockhashStatus(blockhash, patient()), fault.kind).toMatchObject({ valid: true });
      expect((await chain.latestBlockhash(patient())).lastValidBlockHeight, fault.kind).toBeGreaterThan(
        blockHeight(),
      );
      net.heal();
    }
    for (const node of [net.first, net.second]) net.fail(node, "*", { kind: "http", status: 500 });
    const chain = relayChain();
    await expect(chain.blockhashStatus(blockhash, patient())).rejects.toMatchObject(UNAVAILABLE);
    await expect(chain.latestBlockhash(patient())).rejects.toMatchObject(UNAVAILABLE);
    await expect(chain.balance(feePayer.publicKey.toBase58(), patient())).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe("a simulation", () => {
  it("returns no problem for a payment that would succeed or has succeeded", async () => {
    const chain = relayChain();
    const { bytes } = relayed();
    expect(await chain.simulate(bytes, patient())).toBeUndefined();
    await chain.send(bytes, patient());
    net.local.chain.advance();
    expect(await chain.simulate(bytes, patient())).toBeUndefined();
  });

  it("returns in words why a payment would fail", async () => {
    const chain = relayChain();
    const poor = net.local.controls.createWallet({ lamports: 0n });
    const cases = [
      [relayed({ amount: 2_000_000_000n }).bytes, "holds too little USDC"],
      [spoilt(relayed().bytes), "a signature does not verify"],
      [relayed({ payer: poor }).bytes, "instruction|token account"],
    ] as const;
    for (const [bytes, reason] of cases)
      expect(await chain.simulate(bytes, patient())).toMatch(new RegExp(reason));
    const old = relayed();
    net.local.chain.advance(200);
    expect(await chain.simulate(old.bytes, patient())).toContain("blockhash has expired");
  });

  it("does not blame the caller when the fee payer has no SOL", async () => {
    const fees = Keypair.generate();
    await expect(relayChain().simulate(relayed({ fees }).bytes, patient())).rejects.toMatchObject(
      UNAVAILABLE,
    );
  });

  it("is repeated by the next node when one fails or does not know the blockhash", async () => {
    const { bytes } = relayed();
    const unknown = { context: { slot: 1 }, value: { err: "BlockhashNotFound", logs: [] } };
    for (const fault of [...FAULTS, { kind: "result", result: unknown } as const]) {
      net.fail(net.first, "simulateTransaction", fault);
      expect(await relayChain().simulate(bytes, patient()), fault.kind).toBeUndefined();
      net.heal();
    }
    for (const node of [net.first, net.second]) net.fail(node, "simulateTransaction", { kind: "garbage" });
    await expect(relayChain().simulate(bytes, patient())).rejects.toMatchObject(UNAVAILABLE);
  });
});

/** With a byte of the payer's signature changed. */
function spoilt(bytes: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[80] = (copy[80] ?? 0) ^ 1;
  return copy;
}

describe("sending", () => {
  it("uses every node and may be repeated", async () => {
    const chain = relayChain();
    const { bytes, query } = relayed();
    await chain.send(bytes, patient());
    await expect.poll(() => net.counts(net.second)["sendTransaction"]).toBe(1);
    expect(net.counts(net.first)["sendTransaction"]).toBe(1);
    net.local.chain.advance();
    await chain.send(bytes, patient());
    expect(await chain.outcome(query())).toEqual({ kind: "confirmed" });
  });

  it("succeeds when one node accepts the transaction or already has it", async () => {
    const already = {
      kind: "rpc_error",
      code: -32002,
      message: "Transaction simulation failed: This transaction has already been processed",
      data: { err: "AlreadyProcessed" },
    } as const;
    for (const fault of FAULTS) {
      net.fail(net.first, "sendTransaction", fault);
      const { bytes, query } = relayed();
      await relayChain().send(bytes, patient());
      net.local.chain.advance();
      expect(await relayChain().outcome(query()), fault.kind).toEqual({ kind: "confirmed" });
      net.heal();
    }
    for (const node of [net.first, net.second]) net.fail(node, "sendTransaction", already);
    await relayChain().send(relayed().bytes, patient());
  });

  it("fails when no node accepts it, or one reports another signature", async () => {
    for (const fault of [...FAULTS, { kind: "result", result: "1".repeat(64) } as const]) {
      for (const node of [net.first, net.second]) net.fail(node, "sendTransaction", fault);
      await expect(relayChain().send(relayed().bytes, patient()), fault.kind).rejects.toMatchObject(
        UNAVAILABLE,
      );
      net.heal();
    }
    const refused = {
      kind: "rpc_error",
      code: -32002,
      message: "Blockhash not found",
      data: { err: "x" },
    } as const;
    for (const node of [net.first, net.second]) net.fail(node, "sendTransaction", refused);
    await expect(relayChain().send(relayed().bytes, patient())).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe("the outcome", () => {
  const HANG: Fault = { kind: "hang" };

  it("is confirmed as soon as one node says so", async () => {
    const { bytes, query } = relayed();
    await relayChain().send(bytes, patient());
    net.local.chain.advance();
    for (const fault of [...FAULTS, { kind: "stale", slots: 5 } as const]) {
      net.fail(net.first, "getSignatureStatuses", fault);
      expect(await relayChain().outcome(query()), fault.kind).toEqual({ kind: "confirmed" });
      net.heal();
    }
  });

  it("is absent, not expired, while it is not sent or not confirmed", async () => {
    const chain = relayChain();
    const { bytes, query } = relayed();
    expect(await chain.outcome(query())).toEqual({ kind: "absent", expired: false });
    await chain.send(bytes, patient());
    expect(await chain.outcome(query())).toEqual({ kind: "absent", expired: false });
  });

  it("is failed with the reason when the transaction failed on the chain", async () => {
    const { bytes, query } = relayed({ amount: 2_000_000_000n });
    await relayChain().send(bytes, patient());
    net.local.chain.advance();
    expect(await relayChain().outcome(query())).toEqual({
      kind: "failed",
      reason: expect.stringContaining("too little USDC"),
    });
  });

  it("is expired only when every node's finalized chain is past its last block by a margin", async () => {
    const { query } = relayed();
    net.local.chain.advance(150 + 32 + 10);
    expect(await relayChain().outcome(query())).toEqual({ kind: "absent", expired: false });
    net.local.chain.advance(2);
    expect(await relayChain().outcome(query())).toEqual({ kind: "absent", expired: true });
    net.fail(net.second, "getBlockHeight", { kind: "stale", slots: 20 });
    expect(await relayChain().outcome(query())).toEqual({ kind: "absent", expired: false });
  });

  it("is UNAVAILABLE while one node does not answer, which may know it", async () => {
    const { query } = relayed();
    net.local.chain.advance(200);
    for (const fault of FAULTS.filter(({ kind }) => kind !== "null")) {
      net.fail(net.second, "getSignatureStatuses", fault);
      await expect(relayChain().outcome(query()), fault.kind).rejects.toMatchObject(UNAVAILABLE);
      net.heal();
    }
  });

  it("is found by the second query when it lands between the queries", async () => {
    const { bytes, query } = relayed();
    await relayChain().send(bytes, patient());
    net.local.chain.advance(200);
    const unknown = { context: { slot: 1 }, value: [null] };
    for (const node of [net.first, net.second])
      net.fail(node, "getSignatureStatuses", { kind: "result", result: unknown }, 1);
    expect(await relayChain().outcome(query())).toEqual({ kind: "confirmed" });
  });

  it("ends with the caller's signal", async () => {
    for (const node of [net.first, net.second]) net.fail(node, "getSignatureStatuses", HANG);
    const reason = new Error("gone");
    await expect(
      relayChain().outcome({ ...relayed().query(), signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});

describe("the fee payer's balance", () => {
  it("is returned in lamports, by the next node when one fails", async () => {
    net.fail(net.first, "getBalance", { kind: "garbage" });
    expect(await relayChain().balance(Keypair.generate().publicKey.toBase58(), patient())).toBe(0n);
    const held = await relayChain().balance(feePayer.publicKey.toBase58(), patient());
    expect(held).toBeGreaterThan(900_000_000n);
    expect(held).toBeLessThan(1_000_000_000n);
  });
});
