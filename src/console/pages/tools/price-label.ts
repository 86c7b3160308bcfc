import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { formatUsd } from "../../format.ts";

/** Returns the price of a tool as the catalogue states it. */
export function priceLabel({ billable, price }: Pick<Tool, "billable" | "price">): string {
  if (!billable) return "Free";
  return price ? `${formatUsd(price.priceUsdcMicrousd)} per call` : "By the parameters";
}
