import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config.ts";
import { checkFeePayer, openSponsor } from "../../src/gateway/relay.ts";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { SolanaRpc } from "../../src/solana/rpc/rpc.ts";
import { systemClock } from "../../src/system.ts";
import { secret } from "../support/record.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const treasury = Keypair.generate();
const folder = mkdtempSync(path.join(tmpdir(), "toolgate-key-"));
let chain: LocalChain;
let rpc: SolanaRpc;

beforeAll(async () => {
  chain = await startLocalChain({ slotMs: 0 });
  rpc = new SolanaRpc([chain.url], { clock: systemClock, log: silent, attemptMs: 2_000 });
});
afterAll(async () => {
  await chain.close();
  rmSync(folder, { recursive: true });
});

function keyFile(content: unknown, mode = 0o600): string {
  const file = path.join(folder, "key.json");
  const text = typeof content === "string" ? content : JSON.stringify(content);
  // Text that is no key is not secret and too short to search for.
  writeFileSync(file, text.length < 100 ? text : secret("a fee payer's key", text));
  chmodSync(file, mode);
  return file;
}

const configOf = (file: string | undefined, owner = treasury) => ({
  FEE_PAYER_KEYPAIR: file,
  MEMO_PREFIX: "svc",
  GASLESS_LOW_LAMPORTS: 20_000_000,
  TREASURY_OWNER: owner.publicKey.toBase58(),
});

const check = (file: string | undefined, owner = treasury) =>
  checkFeePayer(configOf(file, owner), rpc, AbortSignal.timeout(60_000));

function funded(lamports: bigint): { address: string; bytes: number[] } {
  const wallet = chain.controls.createWallet({ lamports });
  return { address: wallet.publicKey.toBase58(), bytes: [...wallet.secretKey] };
}

describe("the fee payer's key", () => {
  it("skips the fee payer when gasless is off", async () => {
    expect(await openSponsor(configOf(undefined))).toBeUndefined();
    expect(await check(undefined)).toEqual({ problems: [], warnings: [] });
  });

  it("accepts a funded fee payer whose key is private", async () => {
    const { address, bytes } = funded(1_000_000_000n);
    expect(await check(keyFile(bytes))).toEqual({ problems: [], warnings: [] });
    expect((await openSponsor(configOf(keyFile(bytes))))?.feePayer).toBe(address);
  });

  it("reports an invalid key file without its content", async () => {
    const { bytes } = funded(1_000_000_000n);
    const mixed = [...bytes.slice(0, 32), ...funded(0n).bytes.slice(32)];
    const cases: readonly [file: string, problem: RegExp][] = [
      [path.join(folder, "none.json"), /none\.json cannot be read \(ENOENT\); set a key file/],
      [folder, /cannot be read \(EISDIR\)/],
      [keyFile(bytes.slice(0, 63)), /JSON array of 64 numbers/],
    ];
    for (const [file, problem] of cases) {
      const { problems } = await check(file);
      expect(problems).toEqual([expect.stringMatching(problem)]);
    }
    const contents: readonly [content: unknown, problem: RegExp][] = [
      ["", /JSON array of 64 numbers/],
      [[...bytes, 1], /JSON array of 64 numbers/],
      [[...bytes.slice(0, 63), 256], /JSON array of 64 numbers/],
      [{ key: bytes }, /JSON array of 64 numbers/],
      [mixed, /not the public key of the first 32/],
    ];
    for (const [content, problem] of contents) {
      const file = keyFile(content);
      const { problems, warnings } = await check(file);
      expect(problems).toEqual([expect.stringMatching(problem)]);
      expect(problems[0]).toMatch(/^FEE_PAYER_KEYPAIR: /);
      expect([...problems, ...warnings].join()).not.toContain(bytes.slice(0, 4).join(","));
      await expect(openSponsor(configOf(file))).rejects.toBeInstanceOf(ConfigError);
    }
  });

  it("rejects the treasury's key as fee payer", async () => {
    const owner = chain.controls.createWallet();
    const { problems } = await check(keyFile([...owner.secretKey]), owner);
    expect(problems).toEqual([
      expect.stringMatching(/^FEE_PAYER_KEYPAIR: must be another key than the treasury/),
    ]);
  });

  it("warns when other users can read the key file", async () => {
    for (const mode of [0o640, 0o604, 0o660]) {
      const { problems, warnings } = await check(keyFile(funded(1_000_000_000n).bytes, mode));
      expect(problems).toEqual([]);
      expect(warnings).toEqual([expect.stringMatching(/other users can read .*chmod 600/)]);
    }
  });
});

describe("the fee payer's balance", () => {
  it("reports an empty fee payer as a problem and a low one as a warning", async () => {
    const empty = await check(keyFile([...Keypair.generate().secretKey]));
    expect(empty.problems).toEqual([expect.stringMatching(/holds no SOL; send it some/)]);
    const low = await check(keyFile(funded(19_999_999n).bytes));
    expect(low.problems).toEqual([]);
    expect(low.warnings).toEqual([
      expect.stringMatching(/holds 19999999 lamports, less than GASLESS_LOW_LAMPORTS/),
    ]);
  });

  it("ignores endpoint failures, which another check reports", async () => {
    const file = keyFile([...Keypair.generate().secretKey]);
    chain.faults.add({ method: "getBalance", fault: { kind: "http", status: 500 } });
    try {
      expect(await check(file)).toEqual({ problems: [], warnings: [] });
    } finally {
      chain.faults.clear();
    }
  });
});
