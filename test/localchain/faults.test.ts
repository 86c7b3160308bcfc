import { Connection } from "@solana/web3.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { post, rpc, signed, transfer } from "./paying.ts";

describe("an RPC endpoint with faults", () => {
  let local: LocalChain;
  const getSlot = { jsonrpc: "2.0", id: 1, method: "getSlot" };

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
  });
  afterEach(() => {
    local.faults.clear();
    local.faults.resetCallCounts();
  });
  afterAll(() => local.close());

  it("answers 429 with Retry-After for the configured number of calls", async () => {
    local.faults.add({
      method: "getSlot",
      calls: 2,
      fault: { kind: "http", status: 429, retryAfterSeconds: 3 },
    });
    for (const limited of [await post(local, getSlot), await post(local, getSlot)]) {
      expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
    }
    expect((await post(local, getSlot)).status).toBe(200);
    expect(local.faults.callCount("getSlot")).toBe(3);
  });

  it("answers 500, a JSON-RPC error or invalid JSON until cleared", async () => {
    local.faults.add({ method: "*", fault: { kind: "http", status: 500 } });
    expect((await post(local, getSlot)).status).toBe(500);
    local.faults.clear();
    local.faults.add({
      method: "getSlot",
      fault: { kind: "rpc_error", code: -32005, message: "Node is behind" },
    });
    await expect(rpc(local, "getSlot")).rejects.toMatchObject({ code: -32005, message: "Node is behind" });
    await expect(rpc(local, "getBlockHeight")).resolves.toBeTypeOf("number");
    local.faults.clear("getSlot");
    local.faults.add({ method: "getSlot", fault: { kind: "garbage" } });
    await expect((await post(local, getSlot)).json()).rejects.toThrow();
  });

  it("answers late or never", async () => {
    local.faults.add({ method: "getSlot", calls: 1, fault: { kind: "delay", ms: 60 } });
    const start = performance.now();
    await rpc(local, "getSlot");
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
    local.faults.add({ method: "getSlot", calls: 1, fault: { kind: "hang" } });
    const signal = AbortSignal.timeout(80);
    await expect(
      fetch(local.url, { method: "POST", body: JSON.stringify(getSlot), signal }),
    ).rejects.toThrow();
  });

  it("denies what it knows", async () => {
    const [payer, shop] = [
      local.controls.createWallet({ microUsd: 5n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
    const wire = signed(local, payer, [transfer(local, payer, shop, 1n)]).serialize();
    const signature = await new Connection(local.url).sendRawTransaction(wire);
    local.chain.advance();
    for (const method of ["getTransaction", "getSignatureStatuses", "getSignaturesForAddress"]) {
      local.faults.add({ method, fault: { kind: "null" } });
    }
    expect(await rpc(local, "getTransaction", signature, { commitment: "confirmed" })).toBeNull();
    expect(await rpc(local, "getSignatureStatuses", [signature])).toMatchObject({ value: [null] });
    expect(await rpc(local, "getSignaturesForAddress", payer.publicKey.toBase58())).toEqual([]);
  });

  it("lags behind", async () => {
    const [payer, shop] = [
      local.controls.createWallet({ microUsd: 5n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
    local.chain.advance(50);
    const slot = local.chain.slots.current;
    const wire = signed(local, payer, [transfer(local, payer, shop, 1n)]).serialize();
    const signature = await new Connection(local.url).sendRawTransaction(wire);
    local.chain.advance(40);
    local.faults.add({ method: "*", fault: { kind: "stale", slots: 41 } });
    expect(await rpc(local, "getSlot", { commitment: "processed" })).toBe(slot - 1);
    expect(await rpc(local, "getTransaction", signature)).toBeNull();
    const account = local.controls.usdcAccount(shop.publicKey).toBase58();
    expect(await rpc(local, "getTokenAccountBalance", account, { commitment: "processed" })).toMatchObject({
      value: { amount: "0" },
    });
    await expect(rpc(local, "getSlot", { minContextSlot: slot })).rejects.toMatchObject({ code: -32016 });
  });

  it("returns false data", async () => {
    local.faults.add({ method: "getGenesisHash", calls: 1, fault: { kind: "result", result: "devnet" } });
    expect(await rpc(local, "getGenesisHash")).toBe("devnet");
  });

  it("can be configured from another process", async () => {
    await rpc(local, "local_addFault", { method: "getSlot", calls: 1, fault: { kind: "http", status: 503 } });
    expect((await post(local, getSlot)).status).toBe(503);
    expect(await rpc(local, "local_callCounts")).toEqual({ getSlot: 1 });
    await rpc(local, "local_addFault", { method: "getSlot", fault: { kind: "null" } });
    await rpc(local, "local_clearFaults");
    expect(await rpc(local, "getSlot")).toBeTypeOf("number");
    await rpc(local, "local_resetCallCounts");
    expect(local.faults.callCounts()).toEqual({});
    await expect(rpc(local, "local_addFault", { fault: { kind: "sulk" } })).rejects.toMatchObject({
      code: -32602,
    });
  });
});
