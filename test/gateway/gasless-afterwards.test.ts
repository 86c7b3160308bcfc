import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig, requireServeConfig } from "../../src/config/config.ts";
import { startGateway, type Gateway } from "../../src/gateway.ts";
import { createLogger } from "../../src/log.ts";
import { query } from "../support/database-server.ts";
import { gaslessPayment, signBuilt } from "../support/gasless.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent } from "../support/world.ts";

/** A gasless payment stays valid after the setting changes. */

const PAID = {
  tool: "vram_estimate",
  params: { model: "llama-3.1-8b", dtype: "float16", context_length: 4096 },
};

/** A blockhash must outlive a takeover on a busy machine. */
const SLOT_MS = 400;

const world = useWorld({ FEE_PAYER_KEYPAIR: "", WATCH_INTERVAL_MS: "100" }, SLOT_MS);
let agent: Agent;
let keyFolder: string;
let gasless: Record<string, string>;
let former: Gateway;

/** Gasless is off in the world and was on in a stopped instance. */
beforeAll(async () => {
  agent = await world.agent();
  keyFolder = mkdtempSync(path.join(tmpdir(), "toolgate-former-"));
  const file = path.join(keyFolder, "fee-payer.json");
  writeFileSync(file, JSON.stringify([...world.feePayer.secretKey]), { mode: 0o600 });
  gasless = { FEE_PAYER_KEYPAIR: file };
  const settings = readConfig({ ...world.settings, ...gasless, SHUTDOWN_GRACE_MS: "100" });
  former = await startGateway(requireServeConfig(settings), createLogger("silent", { secrets: [] }));
});
afterAll(() => rmSync(keyFolder, { recursive: true }));

const postAt = (
  gateway: Pick<Gateway, "baseUrl">,
  at: string,
  body: object,
  headers: Record<string, string> = {},
) => request(gateway, agent, at, { method: "POST", body: JSON.stringify(body) }, headers);
const callAt = (gateway: Pick<Gateway, "baseUrl">, headers?: Record<string, string>) =>
  postAt(gateway, "/v1/mcp/tools/call", PAID, headers);

/** Returns a quote and the X-Payment header that pays it. */
async function signedPayment() {
  const { body: offer } = await callAt(former);
  const quoteId: string = offer.quote.quote_id;
  const payer = agent.wallet.publicKey.toBase58();
  const { body: built } = await postAt(former, "/v1/payments/transaction", { quote_id: quoteId, payer });
  return { quoteId, headers: gaslessPayment(signBuilt(built, agent.wallet), quoteId) };
}

describe("a gasless payment that was charged", () => {
  it.each([
    ["gasless was switched off", () => ({ FEE_PAYER_KEYPAIR: "" })],
    ["the memo prefix was changed", () => ({ ...gasless, MEMO_PREFIX: "abc" })],
    [
      "the treasury has moved",
      () => {
        const owner = world.chain.controls.createWallet({ microUsd: 0n }).publicKey.toBase58();
        return { ...gasless, TREASURY_OWNER: owner };
      },
    ],
  ])("returns the stored result after %s", async (_what, settings) => {
    const { headers } = await signedPayment();
    const first = await callAt(former, headers);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    const later = await world.startAnother(settings());
    expect(await callAt(later, headers)).toMatchObject({ status: 200, body: first.body });
  });
});

describe("a pending gasless payment when gasless is switched off", () => {
  it("keeps a pending payment, submits it and pays its call", async () => {
    const { headers, quoteId } = await signedPayment();
    world.chain.faults.add({ method: "sendTransaction", fault: { kind: "http", status: 500 } });
    expect((await callAt(former, headers)).body.code).toBe("PAYMENT_PENDING");
    await former.close();
    expect((await callAt(world.gateway, headers)).body).toMatchObject({ code: "PAYMENT_PENDING" });

    world.chain.faults.clear();
    const state = `select state from relay where quote_id = '${quoteId}'`;
    await expect
      .poll(async () => (await query(world.database.url, state)).rows)
      .toEqual([{ state: "confirmed" }]);
    expect(await callAt(world.gateway, headers)).toMatchObject({
      status: 200,
      body: { receipt: { paid_by: "gasless" } },
    });
  });
});
