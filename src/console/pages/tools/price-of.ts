import { asObject, asText } from "../playground/schema.ts";
import { post } from "../playground/exchange.ts";
import type { ToolCall } from "../playground/tool-call.ts";

/** The price of a call. */
export interface CallPrice {
  readonly microUsd: bigint;
  /** Whether it is the most that the call costs. */
  readonly metered: boolean;
}

/**
 * Asks the gateway for the price of a call, as agents do. Free.
 * @throws Error with the gateway's message, e.g. for invalid parameters
 */
export async function priceOf(secret: string, { tool, params }: ToolCall): Promise<CallPrice> {
  const { response } = await post("/v1/mcp/tools/price", secret, { tool, params });
  const answer = asObject(response.body);
  const price = answer["price_usdc_microusd"];
  if (response.status !== 200 || typeof price !== "number")
    throw new Error(asText(answer["message"]) || `The gateway answered ${response.status}.`);
  return { microUsd: BigInt(price), metered: answer["metered"] === true };
}
