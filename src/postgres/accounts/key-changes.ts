/** Notification channel of key changes, written by triggers. */
export const KEY_CHANNEL = "toolgate_key";

/** A changed key (hash), an account with all its keys (identifier), in hex, or the keys of all accounts. */
export type KeyChange = { key: string } | { account: string } | "all";

/** Parses a notification; undefined when it is not about keys. */
export function keyChangeOf(payload: string): KeyChange | undefined {
  const [kind, hex] = payload.split(":");
  if (hex === undefined) return undefined;
  if (kind === "key") return { key: hex };
  if (kind === "tier") return "all";
  return kind === "account" ? { account: hex } : undefined;
}
