import { formatUsd } from "../../format.ts";

/** What an operator did, by the name of the action; the order of the filter. */
export const ACTIONS: ReadonlyMap<string, string> = new Map([
  ["account.create", "Created an account"],
  ["account.adjust", "Adjusted a balance"],
  ["account.tier", "Set rate limits"],
  ["account.block", "Blocked an account"],
  ["account.unblock", "Unblocked an account"],
  ["account.operator", "Changed the operator role"],
  ["account.move", "Moved an account to another cell"],
  ["balance.explain", "Explained a change of a balance"],
  ["key.create", "Created an API key"],
  ["key.update", "Changed an API key"],
  ["key.rotate", "Rotated an API key"],
  ["key.revoke", "Revoked an API key"],
  ["key-group.create", "Created a group of keys"],
  ["key-group.update", "Changed a group of keys"],
  ["key-group.delete", "Deleted a group of keys"],
  ["sealing-key.rotate", "Added a secret"],
  ["sealing-key.retire", "Retired a secret"],
  ["config.apply", "Published a configuration"],
  ["config.rollback", "Rolled a configuration back"],
  ["tools.try", "Tried a tool of a draft"],
  ["suspense.assign", "Assigned a transfer"],
  ["receipt.refund", "Refunded a receipt"],
  ["webhook.create", "Created a webhook endpoint"],
  ["webhook.update", "Changed a webhook endpoint"],
  ["webhook.delete", "Deleted a webhook endpoint"],
  ["webhook.rotate", "Rotated a webhook secret"],
  ["archive.archive", "Archived a month"],
  ["archive.restore", "Restored a month from the archive"],
  ["database.reconcile", "Reconciled a restored database"],
]);

/** Returns an action in words, with its amount and reason. @param details JSON */
export function sentenceOf(action: string, details: string): string {
  const members = membersOf(details);
  const amount = String(members["amount_usdc_microusd"]);
  const by = /^-?\d+$/.test(amount) ? ` by ${formatUsd(BigInt(amount))}` : "";
  const reason = [members["reason"], members["note"]].find((text) => typeof text === "string" && text !== "");
  return `${ACTIONS.get(action) ?? action}${by}${typeof reason === "string" ? `: “${reason}”` : ""}`;
}

/** Returns JSON with a member a line; the text itself if it was cut. */
export function linesOf(details: string): string {
  const members = membersOf(details);
  return Object.keys(members).length === 0 ? details : JSON.stringify(members, null, 2);
}

function membersOf(details: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(details);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}
