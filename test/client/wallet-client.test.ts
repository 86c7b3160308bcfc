import type { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { keypairSigner, memoryStore, PaidBy, ToolgateClient } from "../../src/client/index.ts";
import { query } from "../support/database-server.ts";
import { useWorld } from "../support/use-world.ts";

/** `ToolgateClient` with a wallet and no API key, against a real gateway, database and chain. */

const PARAMS = { parameters_b: 7 };
const PRICE = 1000n;

const world = useWorld();

/** A wallet with USDC and no SOL, its client, and the requests that it sends. */
function buyer({ microUsd = 10n * PRICE, format }: { microUsd?: bigint; format?: "binary" | "json" } = {}) {
  const wallet = world.chain.controls.createWallet({ microUsd, lamports: 0n });
  const sent: string[] = [];
  const recording: typeof fetch = (input, init) => {
    const names = [...new Headers(init?.headers).keys()].filter((name) => /^(payment|sign-in)/.test(name));
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    sent.push([pathname, ...names].join(" "));
    return fetch(input, init);
  };
  const store = memoryStore();
  const payment = { signer: keypairSigner(wallet), maxPrice: "0.01", budget: "1.00", store };
  const { baseUrl } = world.gateway;
  const client = new ToolgateClient({
    baseUrl,
    wallet: payment,
    ...(format && { format }),
    fetch: recording,
  });
  return { wallet, client, sent, store };
}

async function listed<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const accountOf = async (wallet: Keypair) =>
  (await world.postgres.accounts.create(wallet.publicKey.toBase58())).accountId;

async function credit(wallet: Keypair, amount: bigint): Promise<void> {
  const accountId = await accountOf(wallet);
  await world.postgres.accounts.adjust({ accountId, amount, reason: "test", idempotencyKey: accountId });
}

describe("a client with a wallet alone", () => {
  it.each(["binary", "json"] as const)("buys a call and reads its receipts and runs (%s)", async (format) => {
    const { client } = buyer({ format });
    const { result, receipt } = await client.callTool("vram_estimate", PARAMS);
    expect(result["total_gb"] ?? Object.keys(result)[0]).toBeDefined();
    expect(receipt).toMatchObject({ paidBy: PaidBy.GASLESS, debitedUsdcMicrousd: PRICE });
    expect(await listed(client.receipts())).toEqual([receipt]);
    expect(await client.receipt(receipt?.receiptId ?? "")).toEqual(receipt);
    const [run] = await listed(client.runs());
    expect(run?.runId).toBe(receipt?.runId);
    expect(await client.run(run?.runId ?? "")).toEqual(run);
  });

  it("signs in once for each path that it reads, and not before the next call when nothing is left on the balance", async () => {
    const { client, sent } = buyer();
    await client.callTool("vram_estimate", PARAMS);
    await client.callTool("vram_estimate", PARAMS);
    await listed(client.receipts());
    await listed(client.receipts());
    await listed(client.runs());
    expect(sent).toEqual([
      "/v1/keys",
      "/x402/vram_estimate sign-in-with-x",
      "/x402/vram_estimate payment-signature sign-in-with-x",
      "/x402/vram_estimate",
      "/x402/vram_estimate payment-signature",
      "/v1/keys",
      "/toolgate.v1.ReceiptService/ListReceipts sign-in-with-x",
      "/toolgate.v1.ReceiptService/ListReceipts sign-in-with-x",
      "/v1/keys",
      "/toolgate.v1.RunService/ListRuns sign-in-with-x",
    ]);
  });

  it("spends the balance before it pays, once for an idempotency key", async () => {
    const { client, wallet } = buyer({ microUsd: 0n });
    await credit(wallet, PRICE);
    const options = { idempotencyKey: "once" };
    const { receipt } = await client.callTool("vram_estimate", PARAMS, options);
    expect(receipt).toMatchObject({ paidBy: PaidBy.BALANCE, debitedUsdcMicrousd: PRICE });
    expect((await client.callTool("vram_estimate", PARAMS, options)).receipt).toEqual(receipt);
  });

  it("calls free tools, also after a call that left no balance", async () => {
    const { client } = buyer();
    await client.callTool("vram_estimate", PARAMS);
    expect(await client.callTool("echo", { message: "hi" })).toEqual({
      result: { echo: "hi" },
      receipt: undefined,
    });
  });

  it("returns prices and tools without an account, and stores no sign-in", async () => {
    const { client, store } = buyer();
    const count = async () =>
      (await query(world.database.url, "select count(*)::int as n from account")).rows[0]?.n;
    const before = await count();
    expect(await client.price("vram_estimate", PARAMS)).toEqual({
      tool: "vram_estimate",
      priceUsdcMicrousd: PRICE,
      priceDisplay: "$0.001",
    });
    expect((await client.capabilities()).tools.map(({ name }) => name)).toContain("echo");
    await expect(listed(client.receipts())).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(client.price("echo", { message: "hi" })).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    expect(await count()).toBe(before);
    await client.callTool("vram_estimate", PARAMS);
    for (const key of await store.list("")) {
      const text = (await store.get(key))?.value ?? "";
      expect(text.toLowerCase()).not.toContain("sign-in-with-x");
    }
  });

  it("creates, lists and revokes API keys", async () => {
    const { client } = buyer();
    await expect(client.createKey()).rejects.toMatchObject({ code: "FORBIDDEN" });
    await client.callTool("vram_estimate", PARAMS);
    const { secret, ...key } = await client.createKey("builds");
    expect(key).toMatchObject({ name: "builds", keyId: expect.stringMatching(/^key_/) });
    expect(await client.keys()).toEqual([key]);
    const keyed = new ToolgateClient({ baseUrl: world.gateway.baseUrl, apiKey: secret });
    expect(await listed(keyed.receipts())).toHaveLength(1);
    await client.revokeKey(key.keyId);
    await expect.poll(() => listed(keyed.receipts()).catch(({ code }) => code)).toBe("UNAUTHORIZED");
    expect(() => keyed.createKey()).toThrow(/only a wallet/);
  });

  it("does not sign in for another domain than the one that it calls", async () => {
    const { wallet } = buyer();
    let signed = 0;
    const signer = {
      publicKey: wallet.publicKey,
      sign: () => {
        signed++;
        return new Uint8Array(64);
      },
    };
    const elsewhere = world.gateway.baseUrl.replace("127.0.0.1", "localhost");
    const client = new ToolgateClient({
      baseUrl: elsewhere,
      wallet: { signer, maxPrice: "0.01", budget: "1.00" },
    });
    await expect(listed(client.receipts())).rejects.toThrow(/domain is .*, called was localhost/);
    expect(signed).toBe(0);
  });
});
