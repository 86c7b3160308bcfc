import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Keypair } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config.ts";
import { checkFeePayer, openSponsor } from "../../src/gateway/fee-payer.ts";
import { startLocalChain, type LocalChain } from "../../src/localchain/index.ts";
import { SolanaRpc } from "../../src/solana/rpc.ts";
import { systemClock } from "../../src/system.ts";
import { secret } from "../support/record.ts";

/** What is looked at before the relay is trusted with a key. */

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
  // What is no key at all is no secret, and too short to be looked for.
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

/** A fee payer with that much, and its key. */
function funded(lamports: bigint): { address: string; bytes: number[] } {
  const wallet = chain.controls.createWallet({ lamports });
  return { address: wallet.publicKey.toBase58(), bytes: [...wallet.secretKey] };
}

describe("the fee payer's key", () => {
  it("is not asked for where gasless is off", async () => {
    expect(await openSponsor(configOf(undefined))).toBeUndefined();
    expect(await check(undefined)).toEqual({ problems: [], warnings: [] });
  });

  it("is well where it can pay and is nobody else's to read", async () => {
    const { address, bytes } = funded(1_000_000_000n);
    expect(await check(keyFile(bytes))).toEqual({ problems: [], warnings: [] });
    expect((await openSponsor(configOf(keyFile(bytes))))?.feePayer).toBe(address);
  });

  it("is a problem where it cannot be used, and none of it is told", async () => {
    const { bytes } = funded(1_000_000_000n);
    const mixed = [...bytes.slice(0, 32), ...funded(0n).bytes.slice(32)];
    const cases: readonly [file: string, problem: RegExp][] = [
      [path.join(folder, "none.json"), /none\.json cannot be read \(ENOENT\); name a key file/],
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

  it("must not be the treasury's", async () => {
    const owner = chain.controls.createWallet();
    const { problems } = await check(keyFile([...owner.secretKey]), owner);
    expect(problems).toEqual([
      expect.stringMatching(/^FEE_PAYER_KEYPAIR: must be another key than the treasury/),
    ]);
  });

  it("is a warning where other users can read it", async () => {
    for (const mode of [0o640, 0o604, 0o660]) {
      const { problems, warnings } = await check(keyFile(funded(1_000_000_000n).bytes, mode));
      expect(problems).toEqual([]);
      expect(warnings).toEqual([expect.stringMatching(/other users can read .*chmod 600/)]);
    }
  });
});

describe("the fee payer's balance", () => {
  it("is a problem at nothing, and a warning when it is low", async () => {
    const empty = await check(keyFile([...Keypair.generate().secretKey]));
    expect(empty.problems).toEqual([expect.stringMatching(/holds no SOL; send it some/)]);
    const low = await check(keyFile(funded(19_999_999n).bytes));
    expect(low.problems).toEqual([]);
    expect(low.warnings).toEqual([
      expect.stringMatching(/holds 19999999 lamports, less than GASLESS_LOW_LAMPORTS/),
    ]);
  });

  it("is no finding where nobody tells it: the endpoints are looked at elsewhere", async () => {
    const file = keyFile([...Keypair.generate().secretKey]);
    chain.faults.add({ method: "getBalance", fault: { kind: "http", status: 500 } });
    try {
      expect(await check(file)).toEqual({ problems: [], warnings: [] });
    } finally {
      chain.faults.clear();
    }
  });
});
