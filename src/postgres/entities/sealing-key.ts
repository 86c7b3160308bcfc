import { defineEntity, p } from "@mikro-orm/core";

/** A secret that quotes are sealed with. */
export const SealingKeyEntity = defineEntity({
  name: "SealingKey",
  tableName: "sealing_key",
  properties: {
    version: p.integer().primary().autoincrement(false),
    secret: p.blob(),
    activeFrom: p.datetime().length(6),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** A secret that API keys are signed with. */
export const ApiKeySecretEntity = defineEntity({
  name: "ApiKeySecret",
  tableName: "api_key_secret",
  properties: {
    version: p.integer().primary().autoincrement(false),
    secret: p.blob(),
    activeFrom: p.datetime().length(6),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
