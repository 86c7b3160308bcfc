import { createKeyPairSignerFromBytes } from "@solana/kit";
import { Keypair } from "@solana/web3.js";
import { x402Client } from "@x402/core/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm";
import type { HttpTarget } from "./bench.ts";
import { requestLocalChain } from "./chain-request.ts";
import { PAID_CALL } from "./http-request.ts";
import { Latencies } from "./latencies.ts";
import type { Side } from "./measure.ts";

/** Purchases under way at once. */
const AT_ONCE = 8;
/** Micro-USD of the wallet that buys: more than any run spends. */
const MICRO_USD = 1_000_000_000;

/** The official client with a wallet of USDC and no SOL, in this process so that signing is not measured. */
export async function openX402Buyers(rpcUrl: string, apiKey: string) {
  const wallet = Keypair.generate();
  await requestLocalChain(rpcUrl, "local_mintUsdc", [wallet.publicKey.toBase58(), MICRO_USD]);
  const client = new x402Client().register(
    "solana:*",
    new ExactSvmScheme(await createKeyPairSignerFromBytes(wallet.secretKey), { rpcUrl }),
  );
  const paying = wrapFetchWithPayment(fetch, client);
  const buy = async (port: number): Promise<void> => {
    const response = await paying(`http://127.0.0.1:${port}/v1/mcp/tools/call`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(PAID_CALL),
    });
    const body = await response.text();
    if (response.status !== 200) throw new Error(`a purchase was answered with ${response.status}: ${body}`);
  };
  return {
    /**
     * Buys one after the other: a new wallet may have two payments under way, and one more for each that was
     * confirmed.
     */
    async prove({ port }: HttpTarget): Promise<void> {
      for (let purchase = 0; purchase < AT_ONCE; purchase++) await buy(port);
    },
    /** Buys `count` times: each is a 402, a signature, and the paid call. */
    side({ server, port }: HttpTarget, purchases: number): Side {
      return async () => {
        const latencies = new Latencies();
        let left = purchases;
        const buyer = async (): Promise<void> => {
          while (left-- > 0) {
            const began = performance.now();
            await buy(port);
            latencies.count(performance.now() - began);
          }
        };
        const [began, cpuBefore] = [performance.now(), await server.cpuSeconds()];
        await Promise.all(Array.from({ length: AT_ONCE }, buyer));
        const [seconds, cpuAfter] = [(performance.now() - began) / 1000, await server.cpuSeconds()];
        return {
          perSecond: purchases / seconds,
          cpuMicros: ((cpuAfter - cpuBefore) * 1_000_000) / purchases,
          p50Ms: latencies.percentile(0.5),
          p99Ms: latencies.percentile(0.99),
        };
      };
    },
  };
}
