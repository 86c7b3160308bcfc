import { expect } from "vitest";
import { memoOf, xPayment, type Agent, type Answer, type World } from "../../support/world.ts";
import { Buyer, type Extra } from "../scene.ts";

/** A paid call whose model a test delays or fails (test/support/model-server.ts). */
export const CHAT = {
  tool: "inference_chat",
  params: { model: "small", messages: [{ role: "user", content: "Two and two?" }], max_tokens: 10 },
};

/** An account that has paid a quote for the chat. */
export class ChatBuyer extends Buyer {
  readonly tx: string;
  readonly price: bigint;
  readonly headers: Record<string, string>;
  readonly #world: World;

  private constructor(world: World, agent: Agent, quoteId: string, paid: { tx: string; price: bigint }) {
    super(world, agent, { quoteId, stepId: "", memo: memoOf({ quote_id: quoteId }) });
    this.#world = world;
    this.tx = paid.tx;
    this.price = paid.price;
    this.headers = xPayment(paid.tx, quoteId);
  }

  /** Requests a quote and pays it on the chain, with a surplus. */
  static async pay(world: World, payer?: Agent, surplus = 0n): Promise<ChatBuyer> {
    const agent = payer ?? (await world.agent());
    const { status, body } = await world.call(agent, CHAT.tool, CHAT.params);
    expect(status, JSON.stringify(body)).toBe(402);
    const price = BigInt(body.quote.price_usdc_microusd);
    const tx = await world.pay(agent, price + surplus, memoOf(body.quote));
    return new ChatBuyer(world, agent, body.quote.quote_id, { tx, price });
  }

  chat(extra: Extra = {}): Promise<Answer> {
    return this.#world.call(this.agent, CHAT.tool, CHAT.params, extra);
  }

  proved(body: object = {}, headers = this.headers): Promise<Answer> {
    return this.chat({ headers, body });
  }

  /** The chat's answer, and a receipt over its price that names the payment. */
  expectChatBought(answer: Answer): void {
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(answer.body).toMatchObject({
      ok: true,
      result: { content: "Hello." },
      receipt: {
        tx_signature: this.tx,
        quote_id: this.quoteId,
        paid_by: "transfer",
        quoted_usdc_microusd: Number(this.price),
        debited_usdc_microusd: Number(this.price),
        refunded_usdc_microusd: 0,
        status: "final",
      },
    });
  }
}
