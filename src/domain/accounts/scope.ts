export const SCOPES = [
  "inference:write",
  "compute:read",
  "compute:run",
  "billing:read",
  "billing:write",
] as const;

export type Scope = (typeof SCOPES)[number];

/** Scopes of a new key by default. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "billing:write");

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text);
}
