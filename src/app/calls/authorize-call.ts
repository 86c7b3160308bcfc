import type { Quotes } from "../../domain/payments/quote.ts";
import type { Tool } from "../../domain/tools/tool.ts";
import { limitError } from "./key-limits.ts";
import type { AuthorizeResult, CallAuthorization, Ledger } from "./ledger.ts";
import { insufficientFunds, priorCallError } from "./refusals.ts";
import { requireAllowance, type UnpaidWork } from "./unpaid-work.ts";

export interface AuthorizeDeps {
  readonly ledger: Ledger;
  readonly quotes: Pick<Quotes, "issue">;
  readonly unpaidWork: Pick<UnpaidWork, "requireAllowance">;
}

/** Started: run, claim and hold are stored. Replay: the same call was charged before. */
export type Authorized = Extract<AuthorizeResult, { kind: "started" | "replay" }>;

/**
 * Claims the call and holds its price.
 * @param quotedFingerprint fingerprint for a quote
 * @throws PaymentRequiredError with a quote; ToolgateError for every other refusal
 */
export async function authorizeCall(
  deps: AuthorizeDeps,
  tool: Tool,
  call: CallAuthorization,
  quotedFingerprint: Buffer,
): Promise<Authorized> {
  const { accountId, price, payment } = call;
  // With a claim the ledger may have the result, so the ledger is queried first.
  if (call.idempotencyKey === undefined && !payment) requireAllowance(deps.unpaidWork, tool, accountId);
  const answer = await deps.ledger.authorize(call);
  switch (answer.kind) {
    case "started":
      return answer;
    case "replay":
      // The call was charged while this payment was verified: it is credited to the balance.
      if (payment?.transfer && answer.receipt?.txSignature !== payment.reference)
        await deps.ledger.credit(accountId, payment.transfer);
      return answer;
    case "insufficient": {
      // A call that would be refused gets no quote.
      if (!payment) requireAllowance(deps.unpaidWork, tool, accountId);
      const { name, metered = false } = tool;
      const short = { tool: name, price, metered, balance: answer.balance, proved: payment !== undefined };
      throw insufficientFunds(short, () => deps.quotes.issue(accountId, price, quotedFingerprint));
    }
    case "capped":
    case "excluded":
      throw limitError(tool.name, price, answer);
    default:
      throw await priorCallError(deps.ledger, accountId, answer);
  }
}
