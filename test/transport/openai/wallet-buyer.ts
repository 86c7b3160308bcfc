import OpenAI from "openai";
import { Receipt } from "mppx";
import { describe, expect, it } from "vitest";
import { keypairSigner, payingFetch, ToolgateClient } from "../../../src/client/index.ts";
import { mppPayer } from "../../interop/mpp-payer.ts";
import type { World } from "../../support/world.ts";

const FUNDS = 1_000_000n;
const call = { model: "good", messages: [{ role: "user" as const, content: "2+2?" }] };

/**
 * Tests of a wallet that has no account until it buys, and then streams chats with a key of its own.
 * @param charge of an answer of the model `good`, micro-USD
 * @param quoted of a call without `max_tokens`, micro-USD
 */
export function walletBuyer(world: World, charge: number, quoted: number): void {
  describe("the client of the scheme Payment", () => {
    it("pays a whole and a streamed chat of the official client", async () => {
      const [agent, payer] = [await world.agent(), await mppPayer(world)];
      const openai = new OpenAI({
        baseURL: `${world.gateway.baseUrl}/openai/v1`,
        apiKey: agent.apiKey,
        maxRetries: 0,
        defaultHeaders: { "X-API-Key": agent.apiKey },
        fetch: payer.fetch,
      });
      for (const stream of [false, true]) {
        const before = await payer.usdc();
        const { response } = await openai.chat.completions.create({ ...call, stream }).withResponse();
        const { reference } = Receipt.fromResponse(response);
        const text = await response.text().catch(() => "");
        expect(before - (await payer.usdc()), text).toBe(BigInt(quoted));
        expect(reference).toMatch(/^\w{80,90}$/);
      }
    });
  });

  describe("a wallet without an account", () => {
    it("buys a chat, makes an API key, and streams with the official client", async () => {
      const { baseUrl } = world.gateway;
      const wallet = world.chain.controls.createWallet({ microUsd: FUNDS, lamports: 0n });
      const payment = { signer: keypairSigner(wallet), maxPrice: "0.01", budget: "0.01" };
      const client = new ToolgateClient({ baseUrl, wallet: payment });

      const first = await client.callTool("inference_chat", call);
      expect(first.receipt).toMatchObject({
        quotedUsdcMicrousd: BigInt(quoted),
        debitedUsdcMicrousd: BigInt(charge),
      });
      const { secret } = await client.createKey("chat");
      const openai = (options: object = {}) =>
        new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: secret, maxRetries: 0, ...options });
      const chunksOf = async (buyer: OpenAI, members: object = {}) => {
        const chunks = [];
        for await (const chunk of await buyer.chat.completions.create({ ...call, ...members, stream: true }))
          chunks.push(chunk);
        return chunks;
      };

      // The rest of the first payment is the balance.
      const fromBalance = await chunksOf(openai(), { max_tokens: 10 });
      expect(fromBalance.at(-1)).toMatchObject({
        receipt: { paid_by: "balance", debited_usdc_microusd: charge },
      });
      expect(fromBalance.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Four.");
      // It no longer covers the quote of a longer answer, which the wallet pays.
      const paid = await chunksOf(openai({ fetch: payingFetch(payment) }));
      expect(paid.at(-1)).toMatchObject({
        usage: { cost_usdc_microusd: charge },
        receipt: { paid_by: "gasless", quoted_usdc_microusd: quoted, debited_usdc_microusd: charge },
      });

      const receipts = [];
      for await (const receipt of client.receipts()) receipts.push(receipt.debitedUsdcMicrousd);
      expect(receipts).toEqual(Array.from({ length: 3 }, () => BigInt(charge)));
      const { result } = await new ToolgateClient({ baseUrl, apiKey: secret }).callTool("get_status", {});
      expect(Number(result["balance_usdc"])).toBeCloseTo((2 * quoted - 3 * charge) / 1e6, 6);
    });
  });
}
