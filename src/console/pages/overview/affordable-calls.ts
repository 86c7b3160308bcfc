import type { ToolUsage } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";

export interface AffordableCalls {
  readonly tool: string;
  readonly calls: bigint;
  /** `average`: the tool has no fixed price, so its average cost counts. */
  readonly basis: "price" | "average";
}

/** Estimates the calls of a balance, micro-USD: of the most used tool and of the cheapest fixed price. */
export function affordableCalls(
  balance: bigint,
  tools: readonly Tool[],
  used: readonly ToolUsage[],
): readonly AffordableCalls[] {
  if (balance <= 0n) return [];
  const reaches = [mostUsed(balance, tools, used), cheapest(balance, tools)].filter(
    (reach) => reach !== undefined,
  );
  return reaches.filter((reach, index) => reaches.findIndex(({ tool }) => tool === reach.tool) === index);
}

function mostUsed(
  balance: bigint,
  tools: readonly Tool[],
  used: readonly ToolUsage[],
): AffordableCalls | undefined {
  const most = used
    .filter(({ usage }) => usage !== undefined && usage.chargedCalls > 0n && usage.spentUsdcMicrousd > 0n)
    .toSorted((a, b) => Number((b.usage?.chargedCalls ?? 0n) - (a.usage?.chargedCalls ?? 0n)))[0];
  if (most?.usage === undefined) return undefined;
  const price = tools.find(({ name }) => name === most.tool)?.price?.priceUsdcMicrousd;
  if (price !== undefined && price > 0n) return { tool: most.tool, calls: balance / price, basis: "price" };
  const { chargedCalls, spentUsdcMicrousd } = most.usage;
  // Multiply first: an average below one micro-USD would round to zero.
  return { tool: most.tool, calls: (balance * chargedCalls) / spentUsdcMicrousd, basis: "average" };
}

function cheapest(balance: bigint, tools: readonly Tool[]): AffordableCalls | undefined {
  let best: { tool: string; price: bigint } | undefined;
  for (const { name, status, price } of tools) {
    if (status !== ToolStatus.ACTIVE || price === undefined || price.priceUsdcMicrousd <= 0n) continue;
    if (best === undefined || price.priceUsdcMicrousd < best.price)
      best = { tool: name, price: price.priceUsdcMicrousd };
  }
  return best && { tool: best.tool, calls: balance / best.price, basis: "price" };
}
