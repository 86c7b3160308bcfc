import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";

/** State of a key; `expiring` keys still work. */
export type KeyState = "active" | "expiring" | "expired" | "revoked";

/** A key is shown as expiring when less than this is left, ms. */
const SOON_MS = 7 * 86_400_000;

export function keyState({ key }: Pick<KeyWithUse, "key">, now: Date): KeyState {
  if (key?.revokedAt) return "revoked";
  const end = key?.limits?.expiresAt;
  if (!end) return "active";
  const left = timestampDate(end).getTime() - now.getTime();
  if (left <= 0) return "expired";
  return left < SOON_MS ? "expiring" : "active";
}

export function isKeyActive(key: Pick<KeyWithUse, "key">, now: Date): boolean {
  const state = keyState(key, now);
  return state === "active" || state === "expiring";
}
