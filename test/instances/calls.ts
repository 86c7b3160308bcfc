import { afterAll, expect } from "vitest";
import type { Gateway } from "../../src/gateway.ts";
import { parseUsdc } from "../../src/domain/core/money.ts";
import {
  memoOf,
  request,
  startGround,
  startHere,
  xPayment,
  type Agent,
  type Answer,
  type Ground,
} from "../support/world.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { Instances } from "./process.ts";

/** Database, chain and processes of one file of tests. After the tests, audits the ledger and ends all. */
export async function openGround(...options: Parameters<typeof startGround>) {
  const [ground, instances] = [await startGround(...options), new Instances()];
  const here = new Set<Gateway>();
  afterAll(async () => {
    try {
      await expectCleanAudit(ground.settings);
    } finally {
      await instances.close();
      for (const gateway of here) await gateway.close();
      await ground.close();
    }
  });
  /** An instance in this process, for those that no signal reaches: a process costs four times as much. */
  const serveHere = async (settings: Record<string, string>) => {
    const gateway = await startHere(settings);
    here.add(gateway);
    return gateway;
  };
  return { ground, instances, serveHere };
}

/** An instance to call. */
export type Target = { readonly baseUrl: string };

/** A call with its tool and headers. */
export interface Call {
  tool?: string;
  params?: object;
  key?: string;
  headers?: Record<string, string>;
}

/** The paid call of these tests, 1000 micro-USD. */
const ESTIMATE = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
export const PRICE = 1_000n;

/** POST /v1/mcp/tools/call at one instance. */
export function callAt(
  target: Target,
  agent: Agent,
  { tool = ESTIMATE.tool, params = ESTIMATE.params, key, headers }: Call = {},
): Promise<Answer> {
  const body = JSON.stringify({ tool, params, ...(key !== undefined && { idempotency_key: key }) });
  return request(target, agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
}

/**
 * Requests a quote and pays it on-chain.
 * @returns the proof header and the amount
 */
export async function payQuote(
  ground: Ground,
  target: Target,
  agent: Agent,
  call: Call = {},
): Promise<{ headers: Record<string, string>; price: bigint }> {
  const { status, body } = await callAt(target, agent, call);
  expect(status, JSON.stringify(body)).toBe(402);
  const price = BigInt(body.quote.price_usdc_microusd);
  const tx = await ground.pay(agent, price, memoOf(body.quote));
  return { headers: xPayment(tx, body.quote.quote_id), price };
}

/** Asserts an account's exact balance and its number of charged calls. */
export async function expectAccount(
  target: Target,
  agent: Agent,
  account: { balance: bigint; receipts: number },
): Promise<void> {
  const [status, receipts] = await Promise.all([
    callAt(target, agent, { tool: "get_status", params: {} }),
    request(target, agent, "/receipts?limit=100", { method: "GET" }),
  ]);
  expect(receipts.status, JSON.stringify(receipts.body)).toBe(200);
  expect({
    balance: parseUsdc(status.body.result.balance_usdc),
    receipts: receipts.body.items.length,
  }).toEqual(account);
}

/** Asserts that the `audit` command finds nothing and exits with 0. */
async function expectCleanAudit(settings: Record<string, string>): Promise<void> {
  const { code, stdout, stderr, rows } = await runToolgateHere(settings, ["audit", "--json"]);
  expect(code, stdout + stderr).toBe(0);
  expect(rows.length).toBeGreaterThan(15);
}
