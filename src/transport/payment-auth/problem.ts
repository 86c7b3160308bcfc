import type { ToolgateError } from "../../domain/core/errors.ts";

const PROBLEM_JSON = "application/problem+json";

/** Problem types of draft-httpauth-payment: the end of the address, and the title. */
const PROBLEMS = {
  PAYMENT_REQUIRED: ["payment-required", "Payment Required"],
  QUOTE_EXPIRED: ["payment-expired", "Payment Expired"],
  INVALID_PAYMENT: ["verification-failed", "Verification Failed"],
} as const;
const MALFORMED = ["malformed-credential", "Malformed Credential"] as const;

/** A problem (RFC 9457) about a payment. */
export interface PaymentProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

/** Returns the problem of an error about a payment; undefined for other errors. */
export function paymentProblem({ code, status, message }: ToolgateError): PaymentProblem | undefined {
  if (code !== "PAYMENT_REQUIRED" && code !== "QUOTE_EXPIRED" && code !== "INVALID_PAYMENT") return undefined;
  const [type, title] = status === 400 ? MALFORMED : PROBLEMS[code];
  return { type: `https://paymentauth.org/problems/${type}`, title, status, detail: message };
}

/** Whether a client asks for problems by name. */
export function acceptsProblems(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes(PROBLEM_JSON) === true;
}

/** Returns an error's answer as a problem, of which the members of the contract's error are extensions. */
export function asProblem<Answer extends { readonly json?: unknown }>(
  answer: Answer,
  problem: PaymentProblem,
) {
  const json = typeof answer.json === "object" ? { ...answer.json, ...problem } : problem;
  return { ...answer, json, mediaType: PROBLEM_JSON };
}
