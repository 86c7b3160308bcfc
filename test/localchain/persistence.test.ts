import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Connection } from "@solana/web3.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startLocalChain, type LocalChain, type LocalChainOptions } from "../../src/localchain/index.ts";
import { decodeTransaction } from "../../src/localchain/wire-transaction.ts";
import { exitOf, firstLine } from "../support/child.ts";
import { memo, rpc, signed, transfer, usdcOf } from "./paying.ts";

describe("a chain with a data folder", () => {
  let dataDir: string;
  let local: LocalChain;

  const start = async (options: LocalChainOptions = {}): Promise<void> => {
    local = await startLocalChain({ slotMs: 0, dataDir, ...options });
  };
  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "local-chain-"));
    await start();
  });
  afterEach(async () => {
    await local.close();
    rmSync(dataDir, { recursive: true });
  });

  it("restores money, transactions and forks after a restart", async () => {
    const [payer, shop] = [
      local.controls.createWallet({ microUsd: 100n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
    const send = (amount: bigint): Promise<string> => {
      const wire = signed(local, payer, [transfer(local, payer, shop, amount), memo("svc:kept")]).serialize();
      return new Connection(local.url).sendRawTransaction(wire);
    };
    const kept = await send(10n);
    const failed = signed(local, payer, [transfer(local, payer, shop, 1_000n)]).serialize();
    const failure = await new Connection(local.url).sendRawTransaction(failed, { skipPreflight: true });
    local.chain.drop(await send(20n));
    local.chain.advance(40);
    const before = await rpc(local, "getTransaction", kept);
    const slot = local.chain.slots.current;

    await local.close();
    await start();

    expect(before).not.toBeNull();
    expect(await rpc(local, "getTransaction", kept)).toBeNull(); // not finalized again: manual slots
    local.chain.moveTo(slot);
    expect(await rpc(local, "getTransaction", kept)).toEqual(before);
    expect(await rpc(local, "getTransaction", failure)).toMatchObject({
      meta: { err: { InstructionError: [0, { Custom: 1 }] } },
    });
    expect([await usdcOf(local, payer), await usdcOf(local, shop)]).toEqual([90n, 10n]);
    await send(5n);
    expect(await usdcOf(local, shop)).toBe(15n);
  });

  it("advances by the slots of the pause", async () => {
    local.chain.setTimeOffset(-60);
    local.controls.createWallet();
    const slot = local.chain.slots.current;
    await local.close();
    await start({ slotMs: 1_000 });
    expect(local.chain.slots.current).toBeGreaterThanOrEqual(slot + 60);
  });

  it("restores many payments, each in its own slot", async () => {
    const [payer, shop] = [
      local.controls.createWallet({ microUsd: 1_000n }),
      local.controls.createWallet({ microUsd: 0n }),
    ];
    for (let payment = 1; payment <= 100; payment++) {
      local.chain.advance();
      const wire = signed(local, payer, [
        transfer(local, payer, shop, 1n),
        memo(`svc:${payment}`),
      ]).serialize();
      expect(local.chain.submit(decodeTransaction(wire)).err).toBeNull();
    }
    await local.close();
    await start();
    expect(await usdcOf(local, shop)).toBe(100n);
  });

  it("ignores half a line left by a kill, and refuses another chain's journal", async () => {
    const wallet = local.controls.createWallet({ microUsd: 7n });
    await local.close();
    appendFileSync(join(dataDir, "chain.jsonl"), '{"transaction":"AAAA');
    await start();
    expect(await usdcOf(local, wallet)).toBe(7n);
    local.controls.mintUsdc(wallet.publicKey, 1n);
    await local.close();
    await start();
    expect(await usdcOf(local, wallet)).toBe(8n);
    await expect(startLocalChain({ dataDir, genesisHash: "another" })).rejects.toThrow(
      /belongs to the chain/,
    );
  });
});

describe("the local chain as a process", () => {
  it("prints its address and ends with its parent", async () => {
    const child = spawn(process.execPath, ["src/localchain/main.ts", "--port", "0"]);
    const ready = JSON.parse(await firstLine(child)) as { url: string; ws_url: string };
    expect(Number(new URL(ready.ws_url).port)).toBe(Number(new URL(ready.url).port) + 1);
    expect(await rpc(ready, "getHealth")).toBe("ok");
    child.stdin.end();
    expect(await exitOf(child)).toEqual([0, null]);
  });
});
