import { z } from "zod";
import type { Bench, HttpTarget } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, type Side } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";
import type { World } from "./world.ts";
import { openX402Buyers } from "./x402-buyers.ts";

const CONNECTIONS = 64;
const PEER = "official x402 library";
/** Fixed result, so that the peer spends nothing on the tool. */
const SOLD = { ok: true, result: {} };

const offer = z.object({
  quote: z.object({ price_usdc_microusd: z.coerce.string() }),
});

/** Dependencies of a gateway that sells by x402 to one buyer without limits. */
export function x402Settings({ feePayerFile }: World): Record<string, string> {
  return { FEE_PAYER_KEYPAIR: feePayerFile, GASLESS_PER_ACCOUNT_HOURLY: "1000000" };
}

/** The library's server. @param answer the gateway's own, for the same price */
export function x402Peer(
  { world: { treasuryOwner, rpcUrl, feePayerFile }, peer }: Bench,
  answer: string,
  front: "node:http" | "express",
): Promise<HttpTarget> {
  const { price_usdc_microusd: price } = offer.parse(JSON.parse(answer)).quote;
  const args = [front, JSON.stringify(SOLD), price, treasuryOwner, rpcUrl, feePayerFile];
  return peer("test/bench/x402-peer/main.ts", { args });
}

/** Compares x402 offers and purchases with the official library. */
export async function x402(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, scale } = bench;
  const [key = ""] = await world.createAccounts(1);
  const peer = await x402Peer(bench, await callOnce(gateway.httpPort, key, PAID_CALL, 402), "node:http");
  const ours = { server: gateway.server, port: gateway.httpPort };
  const asked = (seller: HttpTarget) =>
    bench.http(seller, {
      ...{ connections: CONNECTIONS, requests: [toolCallRequest(key, PAID_CALL)] },
      expect: { status: 402, body: "{" },
    });
  const offers = await compare(asked(ours), asked(peer), plan);
  const buyers = await openX402Buyers(world.rpcUrl, key);
  await buyers.prove(ours);
  const bought = (seller: HttpTarget): Side => buyers.side(seller, scale.purchases);
  const purchases = await compare(bought(ours), bought(peer), plan);
  return [
    ...cpuLine("x402: offer", offers, PEER, 1),
    throughputLine("x402: offer", offers, PEER, 1),
    ...cpuLine("x402: purchase", purchases, PEER, 1),
    throughputLine("x402: purchase", purchases, PEER, 1),
  ];
}
