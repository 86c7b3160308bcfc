const MEANINGS: Readonly<Record<string, string>> = {
  TOOL_FAILED:
    "The tool failed. Nothing was charged. Retry with the same idempotency key or payment proof: " +
    "the tool runs again without a second payment.",
  UNAVAILABLE:
    "A dependency of the tool, such as a model server, was unreachable. Nothing was charged. " +
    "Retry later with the same idempotency key or payment proof.",
  CANCELLED: "The caller disconnected or cancelled before the tool started. Nothing was charged.",
  INTERNAL:
    "The gateway failed. Nothing was charged. Retry with the same idempotency key or payment proof. If it " +
    "happens again, send the run ID to the operator.",
  INVALID_REQUEST:
    "The tool rejected its parameters. Nothing was charged. " +
    "Correct the parameters named in the message and call again.",
  RATE_LIMITED: "The tool received too many calls at once. Nothing was charged. Wait, then retry.",
  FORBIDDEN: "The key lacks a permission, or the account is blocked. Nothing was charged. See the message.",
  INVALID_PAYMENT: "The payment could not be used for this call. Read the message before you pay again.",
  QUOTE_EXPIRED:
    "The payment arrived after its quote had expired. The amount was credited to your balance " +
    "and can pay for the next call.",
};

/** Explains an error code and what to do. */
export function errorMeaning(code: string): string {
  return MEANINGS[code] ?? "The run did not complete, so nothing was charged. See the message for details.";
}
