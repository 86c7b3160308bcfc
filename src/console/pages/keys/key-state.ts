import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";

/** Whether a key works: it does, it does until soon, or it no longer does. */
export type KeyState = "good" | "ending" | "expired" | "revoked";

/** An end within this time is worth a word, ms. */
const SOON_MS = 7 * 86_400_000;

/** Whether the key works at that moment. */
export function keyState({ key }: Pick<KeyWithUse, "key">, now: Date): KeyState {
  if (key?.revokedAt) return "revoked";
  const end = key?.limits?.expiresAt;
  if (!end) return "good";
  const left = timestampDate(end).getTime() - now.getTime();
  if (left <= 0) return "expired";
  return left < SOON_MS ? "ending" : "good";
}

/** Whether calls can be made with the key. */
export function isKeyActive(key: Pick<KeyWithUse, "key">, now: Date): boolean {
  const state = keyState(key, now);
  return state === "good" || state === "ending";
}

/**
 * What the key can still take today, micro-USD: its limit per day less what it has taken, and never more than the balance has.
 * @param balance undefined while it is not known
 */
export function remainingToday(
  use: Pick<KeyWithUse, "key" | "dayUsedUsdcMicrousd">,
  balance: bigint | undefined,
): bigint | undefined {
  const limit = use.key?.limits?.dayUsdcMicrousd;
  const funds = balance === undefined || balance > 0n ? balance : 0n;
  if (limit === undefined) return funds;
  const left = limit > use.dayUsedUsdcMicrousd ? limit - use.dayUsedUsdcMicrousd : 0n;
  return funds === undefined || left < funds ? left : funds;
}
