import type { KeyLimits } from "../../domain/accounts/caller.ts";

/** Key limits as stored in `api_key`; null means unlimited. */
export interface LimitsRow {
  expiresAt?: Date | null | undefined;
  callLimit?: bigint | null | undefined;
  dayLimit?: bigint | null | undefined;
  tools?: string[] | null | undefined;
}

/** Limits of a stored key; undefined when it has none. */
export function limitsOf({ expiresAt, callLimit, dayLimit, tools }: LimitsRow): KeyLimits | undefined {
  const limits = {
    expiresAt: expiresAt ?? undefined,
    perCall: callLimit ?? undefined,
    perDay: dayLimit ?? undefined,
    tools: tools ? new Set(tools) : undefined,
  };
  return Object.values(limits).some((limit) => limit !== undefined) ? limits : undefined;
}

/** Column values of key limits. */
export function limitsRow(limits: KeyLimits | undefined): Required<LimitsRow> {
  return {
    expiresAt: limits?.expiresAt ?? null,
    callLimit: limits?.perCall ?? null,
    dayLimit: limits?.perDay ?? null,
    tools: limits?.tools ? [...limits.tools] : null,
  };
}
