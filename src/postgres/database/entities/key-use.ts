import { defineEntity, p } from "@mikro-orm/core";

/** The last use of a key. */
export const KeyUseEntity = defineEntity({
  name: "KeyUse",
  tableName: "key_use",
  properties: {
    keyId: p.uuid().primary(),
    lastUsedAt: p.datetime().length(6),
  },
});
