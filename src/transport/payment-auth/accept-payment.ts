import type { PaymentRequest } from "../../domain/payments/payment-auth.ts";

/** A range of Accept-Payment: method, intent, and a weight that is omitted for 1. */
const RANGE = /^\s*([a-z]+|\*)\/([A-Za-z0-9-]+|\*)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?\s*$/;
/** Ranges of a header that are read. */
const MAX_RANGES = 32;

interface Range {
  readonly method: string;
  readonly intent: string;
  readonly weight: number;
}

type Named = Pick<PaymentRequest, "method" | "intent">;

/**
 * Returns the requests that Accept-Payment allows, by descending weight; all of them when it is malformed or
 * allows none (draft-httpauth-payment, client payment preferences).
 */
export function accepted<One extends Named>(
  requests: readonly One[],
  header: string | undefined,
): readonly One[] {
  const ranges = header === undefined ? undefined : rangesOf(header);
  if (!ranges) return requests;
  const weighted = requests.map((request) => ({ request, weight: weightOf(request, ranges) }));
  const allowed = weighted.filter(({ weight }) => weight > 0).sort((one, other) => other.weight - one.weight);
  return allowed.length === 0 ? requests : allowed.map(({ request }) => request);
}

/** Returns undefined for a malformed header. */
function rangesOf(header: string): Range[] | undefined {
  const found = header.split(",", MAX_RANGES).map((part) => RANGE.exec(part));
  const ranges = found.flatMap((one) => {
    const [, method, intent, weight = "1"] = one ?? [];
    return method === undefined || intent === undefined ? [] : [{ method, intent, weight: Number(weight) }];
  });
  return ranges.length === found.length ? ranges : undefined;
}

/** The most specific range decides. */
function weightOf({ method, intent }: Named, ranges: readonly Range[]): number {
  const specificity = (range: Range) => (range.method === "*" ? 0 : 1) + (range.intent === "*" ? 0 : 1);
  const matching = ranges.filter(
    (range) => [method, "*"].includes(range.method) && [intent, "*"].includes(range.intent),
  );
  const best = Math.max(...matching.map(specificity));
  return Math.max(0, ...matching.filter((range) => specificity(range) === best).map(({ weight }) => weight));
}
