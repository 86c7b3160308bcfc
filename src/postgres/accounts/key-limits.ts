import type { AccessLimits } from "../../domain/accounts/caller.ts";

/** Limits of single calls as stored in `api_key`; null means unlimited. */
export interface LimitsRow {
  expiresAt?: Date | null | undefined;
  callLimit?: bigint | null | undefined;
  tools?: string[] | null | undefined;
}

/** Limits of a stored key; undefined when it has none. */
export function limitsOf({ expiresAt, callLimit, tools }: LimitsRow): AccessLimits | undefined {
  const limits = {
    expiresAt: expiresAt ?? undefined,
    perCall: callLimit ?? undefined,
    tools: tools ? new Set(tools) : undefined,
  };
  return Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined;
}

/** Column values of key limits. */
export function limitsRow(limits: AccessLimits | undefined): Required<LimitsRow> {
  return {
    expiresAt: limits?.expiresAt ?? null,
    callLimit: limits?.perCall ?? null,
    tools: limits?.tools ? [...limits.tools] : null,
  };
}
