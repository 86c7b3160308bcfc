import { z } from "zod";
import type { ApiKey, ApiKeys } from "../../app/accounts/api-keys.ts";
import type { Approval, Approvals } from "../../app/oauth/approvals.ts";
import type { BudgetLimits } from "../../domain/accounts/budget.ts";
import type { AccessLimits } from "../../domain/accounts/caller.ts";
import { type KeyRules, validateKeyChange } from "../../domain/accounts/new-key.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { parsedJson, type JsonObject } from "../../domain/core/json.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { amount, problemOf } from "./consent.ts";

export interface ApprovalParts {
  readonly approvals: Pick<Approvals, "find" | "decide" | "withdraw">;
  readonly apiKeys: Pick<ApiKeys, "get" | "update">;
  readonly rules: () => KeyRules;
}

/** A limit of an application, as the page shows it. */
interface ShownLimit {
  readonly field: keyof z.infer<typeof raised>;
  readonly limit: MicroUsd;
  /** With what running calls hold; 0n for the limit of a call. */
  readonly spent: MicroUsd;
}

const raised = z.strictObject({
  call_usdc_microusd: amount.optional(),
  day_usdc_microusd: amount.optional(),
  month_usdc_microusd: amount.optional(),
  total_usdc_microusd: amount.optional(),
});

const decision = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.enum(["allow", "refuse"]) }),
  z.strictObject({ decision: z.literal("raise"), limits: raised }),
]);

const MEMBERS = {
  call_usdc_microusd: "perCall",
  day_usdc_microusd: "perDay",
  month_usdc_microusd: "perMonth",
  total_usdc_microusd: "inAll",
} as const;

const FIELDS = {
  day: "day_usdc_microusd",
  month: "month_usdc_microusd",
  total: "total_usdc_microusd",
} as const;

function limitsOf({ limits, budgets }: ApiKey): ShownLimit[] {
  const perCall = limits?.perCall;
  const call =
    perCall === undefined ? [] : [{ field: "call_usdc_microusd" as const, limit: perCall, spent: 0n }];
  const periods = budgets.flatMap(({ period, limit, spent, held }) =>
    limit === undefined ? [] : [{ field: FIELDS[period], limit, spent: spent + held }],
  );
  return [...call, ...periods];
}

/** Returns the call that an application asks for. @throws ToolgateError NOT_FOUND, also for other accounts */
export async function shownApproval(
  parts: Pick<ApprovalParts, "approvals" | "apiKeys">,
  id: string,
  accountId: string,
): Promise<JsonObject> {
  const { approval, key } = await findApproval(parts, id, accountId);
  const { tool, params, price, state, expiresAt } = approval;
  return {
    client: { name: key.name, host: key.client?.host ?? "", verified: key.client?.verified ?? false },
    tool,
    params,
    price_usdc_microusd: price.toString(),
    state,
    expires_at: expiresAt.toISOString(),
    limits: limitsOf(key).map(({ field, limit, spent }) => ({
      field,
      limit_usdc_microusd: limit.toString(),
      spent_usdc_microusd: spent.toString(),
    })),
  };
}

async function findApproval(
  { approvals, apiKeys }: Pick<ApprovalParts, "approvals" | "apiKeys">,
  id: string,
  accountId: string,
): Promise<{ approval: Approval; key: ApiKey }> {
  const approval = await approvals.find(id, accountId);
  if (!approval) throw over();
  return { approval, key: await apiKeys.get(approval.keyId) };
}

function over(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "no application waits for this decision; repeat the call in it");
}

/**
 * Carries out a person's decision: the call once, higher limits, or a refusal.
 * @throws ToolgateError NOT_FOUND; INVALID_REQUEST for another body, and for limits that are not higher
 */
export async function decideApproval(
  parts: ApprovalParts,
  { id, accountId, body }: { id: string; accountId: string; body: Buffer },
): Promise<JsonObject> {
  const { key } = await findApproval(parts, id, accountId);
  const parsed = decision.safeParse(parsedJson(body.toString()));
  if (!parsed.success) throw problemOf(parsed.error);
  if (parsed.data.decision !== "raise") {
    const state = parsed.data.decision === "allow" ? "allowed" : "refused";
    if (!(await parts.approvals.decide(id, accountId, state))) throw over();
    return { state };
  }
  const wanted = { name: undefined, limits: higherLimits(key, parsed.data.limits), groupId: undefined };
  const change = validateKeyChange(wanted, parts.rules());
  await parts.apiKeys.update({ ...change, keyId: key.keyId, accountId });
  await parts.approvals.withdraw(id, accountId);
  return { state: "raised" };
}

/** Only limits that are there, and none lower: a page may be old. @throws ToolgateError INVALID_REQUEST */
function higherLimits(
  key: ApiKey,
  sent: z.infer<typeof raised>,
): Partial<BudgetLimits & Pick<AccessLimits, "perCall">> {
  const now = limitsOf(key);
  const entries = Object.entries(sent).flatMap(([name, wanted]) => {
    const known = now.find(({ field }) => field === name);
    if (!known || wanted === undefined || wanted <= known.limit)
      throw invalidField(`limits.${name}`, "must be higher than now");
    return [[MEMBERS[known.field], wanted] as const];
  });
  if (entries.length === 0) throw invalidField("limits", "must have a limit");
  return Object.fromEntries(entries);
}
