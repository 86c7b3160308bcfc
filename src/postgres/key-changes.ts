/** The channel on which the database tells of them (migration 0008). */
export const KEY_CHANNEL = "toolgate_key";

/** What changed: one key, or an account with all of its keys. Both in hex. */
export type KeyChange = { key: string } | { account: string };

/** What a notification says; undefined when it says nothing of keys. */
export function keyChangeOf(payload: string): KeyChange | undefined {
  const [kind, hex] = payload.split(":");
  if (hex === undefined) return undefined;
  if (kind === "key") return { key: hex };
  return kind === "account" ? { account: hex } : undefined;
}
