import { createSecretKey, type KeyObject } from "node:crypto";

const imported = new WeakMap<Buffer, KeyObject>();

/** Returns a secret as a key, imported once: that costs several times as much as an HMAC. */
export function secretKeyOf(secret: Buffer): KeyObject {
  let key = imported.get(secret);
  if (!key) imported.set(secret, (key = createSecretKey(secret)));
  return key;
}
