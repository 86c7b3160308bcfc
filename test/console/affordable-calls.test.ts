import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ToolUsageSchema } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { ToolSchema, ToolStatus } from "#gen/toolgate/v1/tool_pb.ts";
import { affordableCalls } from "../../src/console/pages/overview/affordable-calls.ts";

const tool = (name: string, price?: bigint, status: ToolStatus = ToolStatus.ACTIVE) =>
  create(ToolSchema, {
    name,
    status,
    billable: true,
    ...(price === undefined ? {} : { price: { priceUsdcMicrousd: price } }),
  });
const used = (name: string, chargedCalls: bigint, spentUsdcMicrousd: bigint) =>
  create(ToolUsageSchema, { tool: name, usage: { chargedCalls, spentUsdcMicrousd } });

const CHAT = tool("inference_chat");
const VRAM = tool("vram_estimate", 2_000n);

describe("affordableCalls", () => {
  it("returns the most used tool at its average cost and the cheapest tool", () => {
    const reach = affordableCalls(
      1_000_000n,
      [CHAT, VRAM, tool("weather", 5_000n)],
      [used("weather", 1n, 5_000n), used("inference_chat", 3n, 10_000n)],
    );
    expect(reach).toEqual([
      { tool: "inference_chat", calls: 300n, basis: "average" },
      { tool: "vram_estimate", calls: 500n, basis: "price" },
    ]);
  });

  it("returns one entry when the most used tool is the cheapest", () => {
    const reach = affordableCalls(10_000n, [CHAT, VRAM], [used("vram_estimate", 10n, 90_000n)]);
    expect(reach).toEqual([{ tool: "vram_estimate", calls: 5n, basis: "price" }]);
  });

  it("rounds down to whole calls", () => {
    expect(affordableCalls(3_999n, [VRAM], [])).toEqual([
      { tool: "vram_estimate", calls: 1n, basis: "price" },
    ]);
    expect(affordableCalls(1_999n, [VRAM], [])).toEqual([
      { tool: "vram_estimate", calls: 0n, basis: "price" },
    ]);
  });

  it("ignores free and inactive tools", () => {
    expect(
      affordableCalls(9_000n, [tool("free", 0n), tool("soon", 1n, ToolStatus.COMING_SOON), VRAM], []),
    ).toEqual([{ tool: "vram_estimate", calls: 4n, basis: "price" }]);
  });

  it("returns nothing without a balance or a price", () => {
    expect(affordableCalls(0n, [VRAM], [])).toEqual([]);
    expect(affordableCalls(-5n, [VRAM], [used("vram_estimate", 1n, 2_000n)])).toEqual([]);
    expect(affordableCalls(9_000n, [CHAT], [])).toEqual([]);
    expect(affordableCalls(9_000n, [CHAT], [used("inference_chat", 0n, 0n)])).toEqual([]);
  });
});
