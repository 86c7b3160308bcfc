import { afterEach, describe, expect, it } from "vitest";
import { startLocalChain, USDC_MINT } from "../../src/localchain/index.ts";
import { post, rpc, useChain } from "./paying.ts";

describe("JSON-RPC over HTTP", () => {
  const local = useChain();

  it("answers a batch in order and ignores notifications", async () => {
    const answer = await post(local, [
      { jsonrpc: "2.0", id: "a", method: "getHealth" },
      { jsonrpc: "2.0", method: "getSlot" },
      { jsonrpc: "2.0", id: 2, method: "noSuchMethod" },
    ]);
    expect(await answer.json()).toEqual([
      { jsonrpc: "2.0", id: "a", result: "ok" },
      { jsonrpc: "2.0", id: 2, error: { code: -32601, message: "Method not found" } },
    ]);
  });

  it("distinguishes parse errors, invalid requests and invalid params", async () => {
    const code = async (body: unknown): Promise<unknown> =>
      ((await (await post(local, body)).json()) as { error: { code: number } }).error.code;
    expect(await code("{")).toBe(-32700);
    expect(await code([])).toBe(-32600);
    expect(await code({ id: 1, method: "getSlot" })).toBe(-32600);
    const call = (method: string, ...params: readonly unknown[]): unknown => ({
      jsonrpc: "2.0",
      id: 1,
      method,
      params,
    });
    expect(await code(call("getAccountInfo", "not an address"))).toBe(-32602);
    expect(await code(call("getBalance"))).toBe(-32602);
    expect(await code(call("getSlot", { commitment: "certain" }))).toBe(-32602);
    expect(await code(call("getTransaction", "1111"))).toBe(-32602);
    expect(await code(call("getSignatureStatuses", Array(257).fill("1".repeat(64))))).toBe(-32602);
    expect(await code(call("sendTransaction", "AAAA", { encoding: "base64" }))).toBe(-32602);
    expect(
      await code(call("sendTransaction", Buffer.alloc(1_300, 1).toString("base64"), { encoding: "base64" })),
    ).toBe(-32602);
  });

  it("writes 64-bit integers in full", async () => {
    const answer = await post(local, {
      jsonrpc: "2.0",
      id: 1,
      method: "getAccountInfo",
      params: [USDC_MINT, { encoding: "base64" }],
    });
    expect(await answer.text()).toContain('"rentEpoch":18446744073709551615');
  });

  it("returns a transaction in every encoding", async () => {
    const wire = local.payment(1n).serialize();
    const signature = await local.connection.sendRawTransaction(wire);
    local.chain.advance();
    const read = (encoding: string): Promise<unknown> =>
      rpc(local, "getTransaction", signature, {
        encoding,
        commitment: "confirmed",
        maxSupportedTransactionVersion: 0,
      });
    expect(await read("base64")).toMatchObject({ transaction: [wire.toString("base64"), "base64"] });
    expect(await read("base58")).toMatchObject({ transaction: [expect.any(String), "base58"] });
    expect(await read("json")).toMatchObject({
      transaction: { message: { header: { numRequiredSignatures: 1 } } },
    });
    expect(await read("jsonParsed")).toMatchObject({
      transaction: { message: { instructions: [{ parsed: { type: "transferChecked" } }] } },
    });
    await expect(read("xml")).rejects.toMatchObject({ code: -32602 });
  });

  it("allows pages of any origin", async () => {
    const answer = await fetch(local.url, { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
  });

  it("skips a port without a free neighbour", async () => {
    const taken = Number(new URL(local.url).port);
    await expect(startLocalChain({ port: taken })).rejects.toThrow(/EADDRINUSE/);
    await expect(startLocalChain({ port: taken - 1 })).rejects.toThrow(/EADDRINUSE/);
  });
});

describe("an RPC endpoint with faults", () => {
  const local = useChain();
  const getSlot = { jsonrpc: "2.0", id: 1, method: "getSlot" };

  afterEach(() => {
    local.faults.clear();
    local.faults.resetCallCounts();
  });
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
    const signature = await local.send(local.payment(1n));
    local.chain.advance();
    for (const method of ["getTransaction", "getSignatureStatuses", "getSignaturesForAddress"]) {
      local.faults.add({ method, fault: { kind: "null" } });
    }
    expect(await rpc(local, "getTransaction", signature, { commitment: "confirmed" })).toBeNull();
    expect(await rpc(local, "getSignatureStatuses", [signature])).toMatchObject({ value: [null] });
    expect(await rpc(local, "getSignaturesForAddress", local.payer.publicKey.toBase58())).toEqual([]);
  });

  it("lags behind", async () => {
    local.chain.advance(50);
    const slot = local.chain.slots.current;
    const signature = await local.send(local.payment(1n));
    local.chain.advance(40);
    local.faults.add({ method: "*", fault: { kind: "stale", slots: 41 } });
    expect(await rpc(local, "getSlot", { commitment: "processed" })).toBe(slot - 1);
    expect(await rpc(local, "getTransaction", signature)).toBeNull();
    const account = local.controls.usdcAccount(local.shop.publicKey).toBase58();
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
