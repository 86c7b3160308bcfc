import type { ErrorCode } from "../../domain/core/errors.ts";
import { isJsonObject } from "../../domain/core/json.ts";
import type { Failure } from "../error-details.ts";
import type { Header } from "../header.ts";
import type { Settlement } from "../x402/settlement.ts";
import type { Result } from "./modern-result.ts";

/** Errors that become results when the client asks for payments in band. */
const PAYMENT_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "PAYMENT_REQUIRED",
  "QUOTE_EXPIRED",
  "INVALID_PAYMENT",
  "PAYMENT_PENDING",
]);

/** `Prefer: payment=in-band` (RFC 7240 section 2), alone or among other preferences. */
const IN_BAND = /(?:^|,)\s*payment\s*=\s*(?:in-band|"in-band")\s*(?:[;,]|$)/i;

/** RFC 7240 section 3. */
export const PREFERENCE_APPLIED: Header = ["preference-applied", "payment=in-band"];

/**
 * Returns whether the client wants payment requests as tool results, for hosts that show their model nothing
 * else.
 */
export function prefersInBand(prefer: string | string[] | undefined): boolean {
  return prefer !== undefined && IN_BAND.test(String(prefer));
}

export function isAboutPayment(code: ErrorCode): boolean {
  return PAYMENT_ERRORS.has(code);
}

/**
 * Returns a failure as a tool result: the plain body as text, with the x402 members when it can be paid that
 * way. Only a quote uses the payment_required name, so that no client pays twice. Without structuredContent:
 * clients validate it against outputSchema even for errors.
 */
export function inBandResult({ error, offer }: Failure, body: unknown): Result {
  const content = isJsonObject(body) && offer ? { ...body, ...offer.paymentRequired } : body;
  const name = error.code === "PAYMENT_REQUIRED" ? "toolgate/payment_required" : "toolgate/error";
  return {
    content: [{ type: "text", text: JSON.stringify(content) }],
    isError: true,
    _meta: { [name]: body },
  };
}

/** Adds the outcome of the x402 payment (x402 v2, MCP transport). */
export function withSettlement(result: Result, settlement: Settlement | undefined): Result {
  return settlement ? { ...result, _meta: { ...result._meta, "x402/payment-response": settlement } } : result;
}
