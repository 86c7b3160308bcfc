import { AccountLayout, AccountState, MINT_SIZE, MintLayout } from "@solana/spl-token";
import { Keypair, PublicKey } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { startLocalChain } from "../../../src/localchain/index.ts";
import { TOKEN_PROGRAM, USDC_MINT, treasuryOf } from "../../../src/solana/core/treasury.ts";
import {
  adviseOnEndpoints,
  checkChain,
  type ChainProblem,
} from "../../../src/solana/operations/startup-checks.ts";
import { patient, useNetwork } from "../network.ts";

const net = useNetwork();

async function check(options: Parameters<typeof net.open>[0] = {}): Promise<ChainProblem[]> {
  const { rpc, treasury } = net.open(options);
  return checkChain(rpc, treasury, patient());
}

function accountInfo(bytes: Buffer, owner = TOKEN_PROGRAM) {
  return { owner, data: [bytes.toString("base64"), "base64"], lamports: 1, executable: false };
}

const key = (text: string) => new PublicKey(text);

function mint(changes: object = {}): Buffer {
  const bytes = Buffer.alloc(MINT_SIZE);
  const fields = {
    mintAuthorityOption: 0 as const,
    mintAuthority: PublicKey.default,
    supply: 1n,
    decimals: 6,
    isInitialized: true,
    freezeAuthorityOption: 0 as const,
    freezeAuthority: PublicKey.default,
  };
  MintLayout.encode({ ...fields, ...changes }, bytes);
  return bytes;
}

function account(changes: object = {}): Buffer {
  const bytes = Buffer.alloc(AccountLayout.span);
  const fields = {
    mint: key(USDC_MINT),
    owner: net.treasuryOwner.publicKey,
    amount: 0n,
    delegateOption: 0 as const,
    delegate: PublicKey.default,
    state: AccountState.Initialized,
    isNativeOption: 0 as const,
    isNative: 0n,
    delegatedAmount: 0n,
    closeAuthorityOption: 0 as const,
    closeAuthority: PublicKey.default,
  };
  AccountLayout.encode({ ...fields, ...changes }, bytes);
  return bytes;
}

/** Makes the node return these accounts for treasury and mint. */
function accounts(treasury: object | null, usdc: object | null): void {
  net.fail(net.first, "getMultipleAccounts", {
    kind: "result",
    result: JSON.parse(JSON.stringify({ context: { slot: 1 }, value: [treasury, usdc] })),
  });
}

describe("the start checks", () => {
  it("find no problem with a mainnet endpoint and an open treasury account", async () => {
    expect(await check({ urls: [net.first.url, net.second.url] })).toEqual([]);
  });

  it("report the problem of each endpoint by its host", async () => {
    net.fail(net.second, "*", { kind: "http", status: 401 });
    const devnet = await startLocalChain({
      slotMs: 0,
      genesisHash: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG",
    });
    const urls = [net.first.url, `${net.second.url}/?api-key=secret`, devnet.url, "http://127.0.0.1:9"];
    const problems = await check({ urls });
    await devnet.close();
    const host = (url: string) => new URL(url).host;
    expect(problems).toEqual([
      {
        endpoint: host(net.second.url),
        code: "UNREACHABLE",
        problem: expect.stringContaining("HTTP 401; check the URL"),
      },
      {
        endpoint: host(devnet.url),
        code: "WRONG_CLUSTER",
        problem: expect.stringContaining("use a mainnet RPC"),
      },
      {
        endpoint: host(devnet.url),
        code: "NO_TREASURY_ACCOUNT",
        problem: expect.stringContaining("spl-token create-account"),
      },
      { endpoint: "127.0.0.1:9", code: "UNREACHABLE", problem: expect.any(String) },
    ]);
    expect(JSON.stringify(problems)).not.toContain("secret");
  });

  it("report an unopened treasury account with the command that opens it", async () => {
    const treasuryOwner = Keypair.generate().publicKey.toBase58();
    const [problem, ...others] = await check({ treasuryOwner });
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ code: "NO_TREASURY_ACCOUNT" });
    expect(problem?.problem).toContain(`--owner ${treasuryOwner}`);
  });

  it("report a token account given instead of its owner", async () => {
    const treasuryOwner = treasuryOf(net.treasuryOwner.publicKey.toBase58()).tokenAccount;
    expect(await check({ treasuryOwner })).toMatchObject([{ code: "NO_TREASURY_ACCOUNT" }]);
  });

  it.each([
    ["history", -32011, "Transaction history is not available"],
    ["support for version 1", -32602, "invalid value: integer `1`"],
  ])("report nodes without %s", async (_what, code, message) => {
    net.fail(net.first, "getTransaction", { kind: "rpc_error", code, message });
    expect(await check()).toMatchObject([{ code: "NO_HISTORY" }]);
  });

  it.each([
    ["another program's", () => accountInfo(account(), "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")],
    ["of another mint", () => accountInfo(account({ mint: Keypair.generate().publicKey }))],
    ["handed over", () => accountInfo(account({ owner: Keypair.generate().publicKey }))],
    ["frozen", () => accountInfo(account({ state: AccountState.Frozen }))],
    ["not initialized", () => accountInfo(account({ state: AccountState.Uninitialized }))],
  ])("report a treasury account that is %s", async (_what, treasury) => {
    accounts(treasury(), accountInfo(mint()));
    expect(await check()).toMatchObject([{ code: "TREASURY_ACCOUNT_UNFIT" }]);
  });

  it.each([
    ["does not exist", () => null],
    ["is another program's", () => accountInfo(mint(), "11111111111111111111111111111111")],
    ["has other decimals", () => accountInfo(mint({ decimals: 9 }))],
    ["is not initialized", () => accountInfo(mint({ isInitialized: false }))],
  ])("report a mint that %s", async (_what, usdc) => {
    accounts(accountInfo(account()), usdc());
    expect(await check()).toMatchObject([{ code: "WRONG_MINT" }]);
  });

  it("repeat a node's text shortened and without terminal control characters", async () => {
    const odd = `\u001b]0;mine\u0007\u009b2J\u202efine\n- all is well${" ".repeat(500)}`;
    net.fail(net.first, "getGenesisHash", { kind: "result", result: odd });
    net.fail(net.first, "getTransaction", { kind: "rpc_error", code: -32011, message: odd });
    accounts(accountInfo(account(), odd), accountInfo(mint(), odd));
    const problems = await check();
    expect(problems.map(({ code }) => code)).toEqual([
      "WRONG_CLUSTER",
      "WRONG_MINT",
      "TREASURY_ACCOUNT_UNFIT",
      "NO_HISTORY",
    ]);
    for (const { problem } of problems) {
      expect(problem).toContain("\ufffd]0;mine\ufffd\ufffd2J\ufffdfine\ufffd- all");
      expect(problem).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(problem.length).toBeLessThan(400);
    }
    net.heal();
    net.fail(net.first, "getGenesisHash", { kind: "rpc_error", code: -32602, message: odd });
    const [unreachable] = await check();
    expect(unreachable).toMatchObject({
      code: "UNREACHABLE",
      problem: expect.stringContaining("\ufffd]0;mine"),
    });
    expect(unreachable?.problem).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it("accept the same accounts when they are valid", async () => {
    accounts(accountInfo(account()), accountInfo(mint()));
    expect(await check()).toEqual([]);
  });

  it("treat accounts of another size as no response", async () => {
    accounts(accountInfo(account().subarray(1)), accountInfo(mint()));
    expect(await check()).toMatchObject([{ code: "UNREACHABLE" }]);
  });
});

describe("the treasury", () => {
  it("is the owner's associated token account for USDC", () => {
    const owner = net.treasuryOwner.publicKey;
    expect(treasuryOf(owner.toBase58())).toEqual({
      owner: owner.toBase58(),
      tokenAccount: net.local.controls.usdcAccount(owner).toBase58(),
      mint: USDC_MINT,
    });
  });

  it.each(["", "abc", "0".repeat(44), `${TOKEN_PROGRAM} `])("rejects the owner %j", (owner) => {
    expect(() => treasuryOf(owner)).toThrow("TREASURY_OWNER: must be a Solana address");
  });
});

describe("advice on endpoints", () => {
  const advice = (...urls: string[]) => adviseOnEndpoints(net.open({ urls }).rpc);

  it("suggests a second endpoint when one decides alone, and shows only its host", () => {
    for (const [url, host] of [
      ["https://rpc.example/?api-key=hidden", "rpc.example"],
      ["https://user:hidden@127.0.0.1.example:8443/hidden", "127.0.0.1.example:8443"],
      ["http://10.0.0.7:8899", "10.0.0.7:8899"],
    ] as const) {
      const [reported, ...more] = advice(url);
      expect(reported).toMatch(/is the only endpoint, so that its word alone decides .* name a second one/);
      expect(reported?.startsWith(`${host} `)).toBe(true);
      expect(reported).not.toContain("hidden");
      expect(more).toEqual([]);
    }
  });

  it("is empty for two endpoints and for a local chain", () => {
    expect(advice("https://one.example", "https://other.example")).toEqual([]);
    for (const host of ["127.0.0.1:8899", "localhost:8899", "[::1]:8899", "127.1.2.3"])
      expect(advice(`http://${host}`), host).toEqual([]);
  });
});
