import { address } from "@solana/kit";
import type { Keypair } from "@solana/web3.js";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { Faults } from "../../src/localchain/faults.ts";
import { createHttpServer } from "../../src/localchain/server.ts";
import { query } from "../support/database-server.ts";
import { gaslessPayment, signBuilt } from "../support/gasless.ts";
import { closeServer, listen } from "../support/servers.ts";
import { request, type Agent, type Answer } from "../support/world.ts";
import { callAt, expectAccount, PRICE, type Target, openGround } from "./calls.ts";

/** One gasless payment on several instances, one of which dies or stalls at critical points. */
// A blockhash lives for a minute, until another instance has taken over on a busy machine.
const { ground, instances, serveHere } = await openGround(
  { RUN_LEASE_MS: "1000", WATCH_INTERVAL_MS: "200" },
  undefined,
  400,
);
/** The node that only the crashing instances use. */
const faults = new Faults();
const server = createHttpServer(ground.chain.chain, faults);
afterAll(() => closeServer(server));
const settings = {
  ...ground.settings,
  SOLANA_RPC_URLS: `http://127.0.0.1:${await listen(server)}`,
};
// The first instance leads and recovers the others' relays. The last one tracks a payment for a minute.
const survivor = await serveHere(ground.settings);
const [first, next, patient] = await Promise.all([
  instances.serve(settings),
  instances.serve(settings),
  instances.serve({ ...settings, PAYMENT_WAIT_MS: "60000" }),
]);
let crashing = first;
let agent: Agent;
let wallet: Keypair;
/** Transactions that funded the wallet's USDC. */
let funded: number;

beforeEach(async () => {
  agent = await ground.agent();
  wallet = ground.chain.controls.createWallet({ lamports: 0n, microUsd: 5n * PRICE });
  funded = transactions();
});
afterEach(() => faults.clear());

/** The wallet's signed transaction for a quote, not sent yet. */
async function signedPayment(): Promise<{ headers: Record<string, string>; quoteId: string }> {
  const { status, body } = await callAt(survivor, agent);
  expect(status, JSON.stringify(body)).toBe(402);
  const quoteId: string = body.quote.quote_id;
  const asked = JSON.stringify({ quote_id: quoteId, payer: wallet.publicKey.toBase58() });
  const built = await request(survivor, agent, "/v1/payments/transaction", { method: "POST", body: asked });
  expect(built.status, JSON.stringify(built.body)).toBe(200);
  return { headers: gaslessPayment(signBuilt(built.body, wallet), quoteId), quoteId };
}

async function relaysOf(quoteId: string): Promise<string[]> {
  const { rows } = await query(ground.database.url, `select state from relay where quote_id = '${quoteId}'`);
  return rows.map(({ state }: { state: string }) => state);
}

const untilRelay = (quoteId: string, state: string) =>
  expect.poll(() => relaysOf(quoteId), { interval: 20 }).toEqual([state]);

/** On-chain transactions that the wallet signed or that funded it. */
const transactions = () => ground.chain.chain.history.touching(address(wallet.publicKey.toBase58())).length;

/** Retries while the call runs elsewhere or the payment's outcome is unknown. */
async function retryUntilBought(target: Target, headers: Record<string, string>): Promise<Answer> {
  let last: Answer | undefined;
  const retry = async () => {
    last = await callAt(target, agent, { headers });
    expect([200, 409, 503], JSON.stringify(last.body)).toContain(last.status);
    return last.status;
  };
  await expect.poll(retry, { interval: 100 }).toBe(200);
  if (!last) throw new Error("there was an answer");
  return last;
}

/** One charge, one transaction, no leftovers. */
async function expectPaidOnce(quoteId: string): Promise<void> {
  expect(await relaysOf(quoteId)).toEqual(["confirmed"]);
  expect(transactions()).toBe(funded + 1);
  await expectAccount(survivor, agent, { balance: 0n, receipts: 1 });
}

describe("three instances that settle one gasless payment at once", () => {
  it("charge once for one transaction and return the same result", async () => {
    const { headers, quoteId } = await signedPayment();
    const targets = [survivor, crashing, next, survivor, crashing, next];
    const answers = await Promise.all(targets.map((target) => retryUntilBought(target, headers)));
    expect(new Set(answers.map(({ body }) => body.receipt.receipt_id)).size).toBe(1);
    expect(answers[0]?.body.receipt).toMatchObject({ paid_by: "gasless", quote_id: quoteId });
    await expectPaidOnce(quoteId);
  });
});

/** Point at which the instance is stopped: the blocked chain method and the payment's state. */
type Moment = readonly [method: string, state: "claimed" | "broadcast"];
const CLAIMED: Moment = ["simulateTransaction", "claimed"];
const SENT: Moment = ["getSignatureStatuses", "broadcast"];

/** Settles a payment on the crashing instance up to that point; undefined when the connection breaks. */
async function stopAt([method, state]: Moment) {
  faults.add({ method, fault: { kind: "hang" } });
  const { headers, quoteId } = await signedPayment();
  const answer = callAt(crashing, agent, { headers }).catch(() => undefined);
  await untilRelay(quoteId, state);
  if (state === "broadcast") await expect.poll(transactions, { interval: 20 }).toBe(funded + 1);
  return { headers, quoteId, answer };
}

describe("an instance stalled during a gasless payment", () => {
  it.each([
    ["its claim", CLAIMED],
    ["the sending", SENT],
  ])("charges nothing twice when it resumes after %s", async (_name, moment) => {
    const { headers, quoteId, answer } = await stopAt(moment);
    crashing.signal("SIGSTOP");
    try {
      const bought = await retryUntilBought(survivor, headers);
      expect(bought.body.receipt).toMatchObject({ paid_by: "gasless", quote_id: quoteId });
      faults.clear();
      crashing.signal("SIGCONT");
      expect([200, 503]).toContain((await answer)?.status);
      expect((await retryUntilBought(crashing, headers)).body).toEqual(bought.body);
    } finally {
      crashing.signal("SIGCONT");
    }
    await expectPaidOnce(quoteId);
  });
});

describe("an instance that receives SIGTERM during a gasless payment", () => {
  it("records the payment of a caller that left, exits without its outcome, and the retry elsewhere finds it", async () => {
    faults.add({ method: "getSignatureStatuses", fault: { kind: "hang" } });
    const { headers, quoteId } = await signedPayment();
    const gone = new AbortController();
    const call = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
    const left = fetch(`${patient.baseUrl}/v1/mcp/tools/call`, {
      method: "POST",
      headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(call),
      signal: gone.signal,
    }).catch(() => undefined);
    await untilRelay(quoteId, "broadcast");
    gone.abort();
    await left;
    patient.signal("SIGTERM");
    expect(await patient.ended).toBe(0);
    // It may still have been sending, but must have recorded the payment.
    expect(patient.log()).not.toContain("could not be noted");
    // Or more, if another instance's recovery was faster.
    expect(["unknown", "confirmed"]).toContain((await relaysOf(quoteId))[0]);
    expect((await retryUntilBought(survivor, headers)).body.receipt).toMatchObject({ paid_by: "gasless" });
    await expectPaidOnce(quoteId);
  });
});

describe("an instance killed during a gasless payment", () => {
  it("leaves a sent payment to the retry elsewhere", async () => {
    const { headers, quoteId, answer } = await stopAt(SENT);
    crashing.signal("SIGKILL");
    expect(await answer).toBeUndefined();
    const bought = await retryUntilBought(survivor, headers);
    expect(bought.body.receipt).toMatchObject({ paid_by: "gasless", quote_id: quoteId });
    await expectPaidOnce(quoteId);
    crashing = next;
  });

  it("leaves a claimed payment to another instance's recovery, which credits the account, and the call to a late retry", async () => {
    const { headers, quoteId, answer } = await stopAt(CLAIMED);
    crashing.signal("SIGKILL");
    expect(await answer).toBeUndefined();
    await untilRelay(quoteId, "confirmed");
    expect((await untilPaid(quoteId)).rows).toEqual([{ paid_by: "gasless" }]);
    await expectAccount(survivor, agent, { balance: PRICE, receipts: 0 });
    const bought = await retryUntilBought(survivor, headers);
    expect(bought.body.receipt).toMatchObject({ paid_by: "gasless", quote_id: quoteId });
    await expectPaidOnce(quoteId);
  });
});

async function untilPaid(quoteId: string) {
  const payments = () =>
    query(ground.database.url, `select paid_by from payment where quote_id = '${quoteId}'`);
  await expect.poll(async () => (await payments()).rowCount, { interval: 50 }).toBe(1);
  return payments();
}
