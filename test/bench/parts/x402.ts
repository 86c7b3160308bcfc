import { z } from "zod";
import type { Part, Target } from "../bench.ts";
import { callOnce, PAID_CALL, toolCallRequest } from "../http-request.ts";
import { compare } from "../measure.ts";
import { line } from "../report.ts";

const offer = z.object({ quote: z.object({ price_usdc_microusd: z.coerce.string() }) });

/** A 402 with an x402 offer, and the official library behind node:http. */
export const x402: Part = {
  name: "x402",
  title: "5. x402 offer",
  why: "Sellers who choose between the gateway and the x402 library",
  async run(bench) {
    const { feePayerFile, treasuryOwner } = bench.world;
    const [key = ""] = await bench.world.createAccounts(1);
    const gateway = await bench.serve({ env: { FEE_PAYER_KEYPAIR: feePayerFile } });
    const answer = offer.parse(JSON.parse(await callOnce(gateway.port, key, PAID_CALL, 402)));
    const price = answer.quote.price_usdc_microusd;
    const library = await bench.peer("x402", price, treasuryOwner, treasuryOwner);
    const requests = [toolCallRequest(key, PAID_CALL)];
    const side = (target: Target) =>
      bench.side(target, { connections: 64, requests, expect: { status: 402, body: "{" } });
    const rounds = await compare(side(gateway), side(library), bench.plan);
    return [line("CPU, throughput", rounds, "official x402 library", ["cpuMicros", "perSecond"])];
  },
};
