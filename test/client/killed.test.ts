import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Connection } from "@solana/web3.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listPayments, payingFetch, resumePayments } from "../../src/client/index.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { callOf, optionsOf, POINTS, type Buyer } from "./buyer.ts";

/** A buyer killed between the decision to pay and the response has paid at most once and gets the result. */

const PRICE = 1000n;

let world: World;
let root: string;
beforeAll(async () => {
  [world, root] = await Promise.all([startWorld(), mkdtemp(path.join(os.tmpdir(), "toolgate-killed-"))]);
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
  await rm(root, { recursive: true, force: true });
});

/** USDC that the wallet has sent. */
async function spent({ wallet }: Agent): Promise<bigint> {
  const connection = new Connection(world.chain.url, {
    commitment: "confirmed",
    wsEndpoint: world.chain.wsUrl,
  });
  const account = world.chain.controls.usdcAccount(wallet.publicKey);
  return 1_000_000_000n - BigInt((await connection.getTokenAccountBalance(account)).value.amount);
}

async function killedBuyer(buyer: Buyer): Promise<NodeJS.Signals | null> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, "buyer.ts")], {
    env: { ...process.env, BUYER: JSON.stringify(buyer) },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal]: (NodeJS.Signals | null)[] = await once(child, "exit");
  return signal ?? null;
}

const cases = (["transfer", "gasless"] as const).flatMap((method) =>
  POINTS.filter((point) => method === "transfer" || point !== "after send").map((killAt) => ({
    method,
    killAt,
  })),
);

describe.concurrent("a buyer that is killed", () => {
  it.for(cases)("$killAt, paying by $method", async ({ method, killAt }, { expect }) => {
    const agent = await world.agent();
    const folder = path.join(root, `${method}-${killAt.replace(" ", "-")}`);
    const parts = { secretKey: [...agent.wallet.secretKey], rpcUrl: world.chain.url, folder, method };
    const buyer = { ...parts, url: world.gateway.baseUrl, apiKey: agent.apiKey, killAt };
    expect(await killedBuyer(buyer)).toBe("SIGKILL");

    const options = optionsOf(parts);
    const headers = { Authorization: `Bearer ${agent.apiKey}` };
    const left = await listPayments(options.store);
    expect(left).toHaveLength(killAt === "before put" ? 0 : 1);
    const resumed = await resumePayments({ ...options, headers });
    expect(resumed).toHaveLength(left.length);
    for (const { response, error } of resumed) {
      expect(error).toBeUndefined();
      expect(await response?.json()).toMatchObject({ ok: true, receipt: { paid_by: method } });
    }
    // Nothing was stored, so nothing was paid: the call starts again.
    if (killAt === "before put") {
      const response = await payingFetch(options)(`${buyer.url}/v1/mcp/tools/call`, callOf(agent.apiKey));
      expect(response.status).toBe(200);
    }
    const { items } = (await world.get(agent, "/receipts")).body;
    expect(items).toHaveLength(1);
    expect(await spent(agent)).toBe(PRICE);
    expect(await listPayments(options.store)).toEqual([]);
    expect(await resumePayments({ ...options, headers })).toEqual([]);
  });
});
