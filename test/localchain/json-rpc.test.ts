import { Connection } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLocalChain, USDC_MINT, type LocalChain } from "../../src/localchain/index.ts";
import { post, rpc, signed, transfer } from "./paying.ts";

describe("JSON-RPC over HTTP", () => {
  let local: LocalChain;

  beforeAll(async () => {
    local = await startLocalChain({ slotMs: 0 });
  });
  afterAll(() => local.close());

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
    const [payer, shop] = [
      local.controls.createWallet({ microUsd: 5n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
    const wire = signed(local, payer, [transfer(local, payer, shop, 1n)]).serialize();
    const signature = await new Connection(local.url).sendRawTransaction(wire);
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
