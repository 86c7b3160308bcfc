import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { startWorld } from "../support/world.ts";
import { WATCHFUL } from "../transport/services/gift.ts";
import { buyOneCall } from "../../src/dev/demo.ts";
import { runToolgate, runToolgateHere } from "./toolgate.ts";
import { closing } from "../support/postgres.ts";

/** Runs `pay` with the dev.json of a running gateway. */

const world = closing(await startWorld(WATCHFUL));
const agent = await world.agent();
const dataDir = await mkdtemp(path.join(os.tmpdir(), "toolgate-pay-"));
afterAll(() => rm(dataDir, { recursive: true }));
const { payTo: pay_to, usdcMint: usdc_mint } = world.gateway;
const devJson = {
  database_url: world.database.url,
  rpc_url: world.chain.url,
  treasury_owner: world.treasury.publicKey.toBase58(),
  pay_to,
  usdc_mint,
  wallet_secret_key: [...agent.wallet.secretKey],
};
await writeFile(path.join(dataDir, "dev.json"), JSON.stringify(devJson));

const toolgate = (...args: string[]) => runToolgateHere({ DATA_DIR: dataDir }, args);
const CALL = ["vram_estimate", { model: "llama-3.1-8b" }] as const;

describe("pay", () => {
  it("pays a quote and prints the X-Payment value", async () => {
    const { body } = await world.call(agent, ...CALL);
    const { stdout, code } = await runToolgate({ DATA_DIR: dataDir }, ["pay", body.quote.quote_id]);
    expect(code).toBe(0);
    expect((await world.call(agent, ...CALL, { headers: { "x-payment": stdout.trim() } })).status).toBe(200);
  });

  it("pays less than the quote's price with --usdc", async () => {
    const { body } = await world.call(agent, ...CALL);
    const { rows } = await toolgate("pay", body.quote.quote_id, "--usdc", "0.0004", "--json");
    const headers = { "x-payment": String(rows[0]?.["x_payment"]) };
    const refused = await world.call(agent, ...CALL, { headers });
    expect(refused).toMatchObject({ status: 402, body: { code: "INVALID_PAYMENT" } });
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(400n);
  });

  it("pays without a quote, with or without memo, into suspense", async () => {
    const bare = await toolgate("pay", "--usdc", "0.25");
    expect(bare).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Sent 0\.250000 USDC\. .*suspense list.*\n$/),
    });
    const named = await toolgate("pay", "--usdc", "0.000001", "--memo", "for lunch", "--json");
    await expect
      .poll(async () => (await toolgate("suspense", "list", "--json")).rows, { interval: 500 })
      .toMatchObject([
        { tx_signature: named.rows[0]?.["tx_signature"], memos: expect.stringContaining("for lunch") },
        { tx_signature: bare.stdout.trim(), amount_usdc: "0.250000", memos: null },
      ]);
  });

  it("reports invalid arguments and failures of pay", async () => {
    for (const args of [[], ["--memo", "x"], ["--usdc", "0"], ["--usdc=-1"], ["qt_1", "--memo", "x"]]) {
      const { code, stderr } = await toolgate("pay", ...args);
      expect({ code, stderr }, args.join(" ")).toEqual({
        code: 2,
        stderr: expect.stringMatching(/^error: /),
      });
    }
    expect(await toolgate("pay", "qt_1")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^NOT_FOUND: /),
    });
    const poor = await toolgate("pay", "--usdc", "9000000");
    expect(poor).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The development wallet holds .*\n$/),
    });
    const nowhere = await runToolgateHere({ DATABASE_URL: world.database.url }, ["pay", "--usdc", "1"]);
    expect(nowhere).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^No dev is running .*npm start.*\n$/),
    });
  });
});

describe("the demo agent", () => {
  const buy = async (balance?: bigint) => {
    const { apiKey, wallet } = await world.agent(balance === undefined ? {} : { balance });
    const lines: string[] = [];
    const { baseUrl } = world.gateway;
    await buyOneCall({ baseUrl, rpcUrl: world.chain.url, apiKey, wallet }, (line) => lines.push(line));
    return lines;
  };

  it("the demo agent pays on the chain when its account is empty", async () => {
    expect((await buy()).map((line) => line.slice(0, 1))).toEqual(["1", "2", "3", "4"]);
  });

  it("the demo agent pays from the balance after a deposit", async () => {
    expect(await buy(5_000n)).toEqual([
      expect.stringMatching(/200, receipt rcpt_\w+, debited 1000 micro-USD/),
    ]);
  });
});
