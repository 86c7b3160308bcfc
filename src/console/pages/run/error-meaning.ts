const MEANINGS: Readonly<Record<string, string>> = {
  TOOL_FAILED:
    "The tool itself failed. Nothing was charged; repeat the call with the same idempotency key or proof and it runs again without a second payment.",
  UNAVAILABLE:
    "Something the tool needs, like a model server, was out of reach. Nothing was charged; repeat the call in a while with the same idempotency key or proof.",
  CANCELLED: "The caller went away or cancelled it before the tool started. Nothing was charged.",
  INTERNAL:
    "A fault of the gateway. Nothing was charged; repeat the call with the same idempotency key or proof, and tell the operator the run's identifier if it happens again.",
  INVALID_REQUEST:
    "The tool refused its parameters. Nothing was charged; correct what the message names and call again.",
  RATE_LIMITED: "The tool had too many calls at once. Nothing was charged; wait a while and repeat the call.",
  FORBIDDEN:
    "The key may not do this, or the account is blocked. Nothing was charged; the message says what is missing.",
  INVALID_PAYMENT:
    "The payment could not be used for this call. Do not pay again before you know why; the message says it.",
  QUOTE_EXPIRED:
    "The payment came after its quote had ended. What was paid is on the balance, which pays the next call.",
};

/** Explains an error code and what to do. */
export function errorMeaning(code: string): string {
  return (
    MEANINGS[code] ?? "The run did not complete, so nothing was charged. The message says what happened."
  );
}
