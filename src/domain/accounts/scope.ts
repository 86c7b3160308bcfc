/** What an API key may be allowed to do. */
export const SCOPES = [
  "inference:write",
  "compute:read",
  "compute:run",
  "billing:read",
  "billing:write",
] as const;

/** One permission of an API key. */
export type Scope = (typeof SCOPES)[number];

/** What a new key may do unless its creator says otherwise. */
export const DEFAULT_SCOPES: readonly Scope[] = SCOPES.filter((scope) => scope !== "billing:write");

/** Whether the text is one of {@link SCOPES}. */
export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text);
}
