import type { JsonObject } from "@bufbuild/protobuf";
import { asObject, asText } from "../playground/schema.ts";
import { ask, posted } from "../connect/consent.ts";

/** Limits of an app by their fields in requests. */
export const LIMIT_NAMES = {
  call_usdc_microusd: "perCall",
  day_usdc_microusd: "perDay",
  month_usdc_microusd: "perMonth",
  total_usdc_microusd: "inAll",
} as const;

type LimitField = keyof typeof LIMIT_NAMES;

export interface AppLimit {
  readonly field: LimitField;
  readonly name: (typeof LIMIT_NAMES)[LimitField];
  /** Micro-USD. */
  readonly limit: bigint;
  readonly spent: bigint;
}

/** A call that an app wants to make beyond its limits. */
export interface Approval {
  /** The app's name and host, as the person knows them. */
  readonly name: string;
  readonly host: string;
  readonly isVerified: boolean;
  readonly tool: string;
  /** JSON, cut where it is long. */
  readonly params: string;
  /** Micro-USD; the most that the call costs. */
  readonly price: bigint;
  readonly state: "asked" | "allowed" | "refused";
  readonly limits: readonly AppLimit[];
}

/** @throws ConnectError NotFound: unknown, expired, used or of another account */
export async function getApproval(id: string, signal: AbortSignal): Promise<Approval> {
  const {
    client,
    tool,
    params,
    price_usdc_microusd: price,
    state,
    limits,
  } = await ask("approval", id, { signal });
  const { name, host, verified } = asObject(client);
  return {
    name: asText(name),
    host: asText(host),
    isVerified: verified === true,
    tool: asText(tool),
    params: asText(params),
    price: BigInt(asText(price)),
    state: state === "allowed" || state === "refused" ? state : "asked",
    limits: Array.isArray(limits) ? limits.flatMap((limit) => limitOf(asObject(limit))) : [],
  };
}

function limitOf({ field, limit_usdc_microusd: limit, spent_usdc_microusd: spent }: JsonObject): AppLimit[] {
  const text = asText(field);
  if (!isLimitField(text)) return [];
  return [
    { field: text, name: LIMIT_NAMES[text], limit: BigInt(asText(limit)), spent: BigInt(asText(spent)) },
  ];
}

function isLimitField(text: string): text is LimitField {
  return Object.hasOwn(LIMIT_NAMES, text);
}

/** What a limit has to be for the call; undefined if it is that already. Micro-USD. */
export function neededFor(
  { price }: Pick<Approval, "price">,
  { limit, spent }: AppLimit,
): bigint | undefined {
  return spent + price > limit ? spent + price : undefined;
}

/** Allows, refuses or raises. @throws ConnectError like getApproval, and InvalidArgument */
export async function decide(id: string, decision: JsonObject): Promise<void> {
  await ask("approval", id, posted(decision));
}
