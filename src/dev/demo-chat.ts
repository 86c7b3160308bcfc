import { z } from "zod";
import { keypairSigner } from "../client/signer.ts";
import { payingFetch } from "../client/paying-fetch.ts";
import type { DemoAgent } from "./demo.ts";
import { STAND_IN_MODEL } from "./inference-stand-in/answer.ts";

const chargedSchema = z.object({
  receipt: z.object({ quoted_usdc_microusd: z.number(), debited_usdc_microusd: z.number() }),
});

/** Keeps the quote, whose rest stays on the balance, below the price of the first call. */
const MAX_TOKENS = 100;

/** Buys a streamed chat with OpenAI's client and pays on the chain. @throws Error naming the step */
export async function streamOneChat(agent: DemoAgent, log: (line: string) => void): Promise<void> {
  const { default: OpenAI } = await import("openai");
  const client = new OpenAI({
    baseURL: `${agent.baseUrl}/openai/v1`,
    apiKey: agent.apiKey,
    maxRetries: 0,
    fetch: payingFetch({
      signer: keypairSigner(agent.wallet.secretKey),
      maxPrice: "0.01",
      budget: "0.01",
      rpcUrl: agent.rpcUrl,
    }),
  });
  const { data } = await client.models.list();
  if (!data.some(({ id }) => id === STAND_IN_MODEL.id)) return;
  const stream = await client.chat.completions.create({
    model: STAND_IN_MODEL.id,
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: MAX_TOKENS,
    stream: true,
  });
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  const charged = chargedSchema.safeParse(chunks.at(-1));
  if (!charged.success) throw new Error("step 5: the stream ended without a receipt");
  const { quoted_usdc_microusd: quoted, debited_usdc_microusd: debited } = charged.data.receipt;
  log(
    `5  streamed a chat by OpenAI's   -> 200, ${chunks.length} chunks; quoted at most ${quoted}, charged ` +
      `${debited} micro-USD\n   package, with a fetch that pays`,
  );
}
