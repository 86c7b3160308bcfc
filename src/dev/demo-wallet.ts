import { z } from "zod";
import { payingFetch } from "../client/paying-fetch.ts";
import { keypairSigner } from "../client/signer.ts";
import type { DemoAgent } from "./demo.ts";

const boughtSchema = z.object({
  receipt: z.object({ quoted_usdc_microusd: z.number(), debited_usdc_microusd: z.number() }),
});
const soldSchema = z.object({ items: z.array(z.object({ resource: z.string() })) });

const TOOL = "vram_estimate";

/** Buys a call with a wallet alone, where that is on. @throws Error naming the step that failed */
export async function buyByWallet(agent: DemoAgent, log: (line: string) => void): Promise<void> {
  const sold = soldSchema.parse(await (await fetch(`${agent.baseUrl}/.well-known/x402`)).json());
  const resource = sold.items.map((item) => item.resource).find((url) => url.endsWith(`/${TOOL}`));
  if (resource === undefined) return;
  const pay = payingFetch({
    signer: keypairSigner(agent.wallet.secretKey),
    maxPrice: "0.01",
    budget: "0.01",
  });
  const response = await pay(`${agent.baseUrl}${new URL(resource).pathname}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "llama-3.1-8b" }),
  });
  const bought = boughtSchema.safeParse(await response.json());
  if (!bought.success) throw new Error(`step 6: expected a receipt, got ${response.status}`);
  const { quoted_usdc_microusd: quoted, debited_usdc_microusd: debited } = bought.data.receipt;
  log(
    `6  bought by a wallet alone      -> 200, no API key and no SOL; quoted ${quoted}, charged ${debited} ` +
      "micro-USD",
  );
}
