import type { JsonObject } from "@bufbuild/protobuf";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { formatUsd } from "../../format.ts";
import { useSettled } from "../../ui/use-settled.ts";
import { maskSecret, post } from "./exchange.ts";
import { asObject, asText, parseJson } from "./schema.ts";

const PRICE_PATH = "/v1/mcp/tools/price";

/** Waits for a pause in typing, ms: each price counts against the key's rate limit. */
const PAUSE_MS = 600;

interface PriceHintProps {
  tool: Tool;
  secret: string | undefined;
  params: JsonObject | undefined;
  calls: number;
}

/** The price of the call as entered, and how it is paid. `params` is undefined while they are invalid. */
export function PriceHint({ tool, secret, params, calls }: PriceHintProps) {
  const text = useSettled(JSON.stringify({ tool: tool.name, params: params ?? {} }), PAUSE_MS);
  const parsed = parseJson(text);
  const call = "value" in parsed ? asObject(parsed.value) : {};
  const { data } = useQuery({
    queryKey: ["price", text, secret === undefined ? "" : maskSecret(secret), calls],
    queryFn: ({ signal }) => priceOf(secret ?? "", call, signal),
    enabled: secret !== undefined && params !== undefined && tool.billable,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return (
    <span className="hint play-price" role="status">
      {tool.billable ? ((params && data) ?? listPrice(tool)) : "Free"}
      {data?.endsWith(" more") && (
        <>
          {" · "}
          <Link href="/deposit">Deposit</Link>
        </>
      )}
    </span>
  );
}

function listPrice({ price }: Tool): string {
  return price ? `${formatUsd(price.priceUsdcMicrousd)} per call` : "The price depends on the parameters";
}

/** Returns the price as text, the reason why the call would be refused, or undefined if it is not known. */
async function priceOf(secret: string, call: JsonObject, signal: AbortSignal): Promise<string | null> {
  const { response } = await post(PRICE_PATH, secret, call, {}, signal);
  const answer = asObject(response.body);
  if (response.status === 429 || response.status >= 500) return null;
  if (response.status !== 200) return asText(answer["message"]);
  const [price, missing] = [
    microUsd(answer["price_usdc_microusd"]),
    microUsd(answer["missing_usdc_microusd"]),
  ];
  if (price === 0n) return "Free";
  const costs = `${answer["metered"] === true ? "At most " : ""}${formatUsd(price)}`;
  return missing === 0n ? `${costs}, paid from balance` : `${costs}, needs ${formatUsd(missing)} more`;
}

function microUsd(value: unknown): bigint {
  return typeof value === "number" ? BigInt(value) : 0n;
}
