import { z } from "zod";
import type { Bench } from "./bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "./http-request.ts";
import { compare, loaded, type Side } from "./measure.ts";
import { cpuLine, throughputLine, type Line } from "./report.ts";
import type { World } from "./world.ts";
import { openX402Buyers, type Seller } from "./x402-buyers.ts";

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

/** Compares x402 offers and purchases with the official library. */
export async function x402(bench: Bench): Promise<Line[]> {
  const { world, gateway, plan, scale, signal } = bench;
  const [key = ""] = await world.createAccounts(1);
  const { price_usdc_microusd: price } = offer.parse(
    JSON.parse(await callOnce(gateway.httpPort, key, PAID_CALL, 402)),
  ).quote;
  const args = [JSON.stringify(SOLD), price, world.treasuryOwner, world.rpcUrl, world.feePayerFile];
  const peer = await bench.peer("test/bench/x402-peer/main.ts", { args });
  const ours = { server: gateway.server, port: gateway.httpPort };
  const load = bench.load("http");
  const asked = ({ server, port }: Seller): Side => {
    const job = {
      host: "127.0.0.1",
      port,
      connections: CONNECTIONS,
      requests: [toolCallRequest(key, PAID_CALL)],
    };
    return loaded(load, server, { ...job, expect: { status: 402, body: "{" } }, plan, signal);
  };
  const offers = await compare(asked(ours), asked(peer), plan);
  const buyers = await openX402Buyers(world.rpcUrl, key);
  await buyers.prove(ours);
  const bought = (seller: Seller): Side => buyers.side(seller, scale.purchases);
  const purchases = await compare(bought(ours), bought(peer), plan);
  return [
    ...cpuLine("x402: offer", offers, PEER, 1),
    throughputLine("x402: offer", offers, PEER, 1),
    ...cpuLine("x402: purchase", purchases, PEER, 1),
    throughputLine("x402: purchase", purchases, PEER, 1),
  ];
}
