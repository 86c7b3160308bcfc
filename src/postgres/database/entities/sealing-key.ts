import { defineEntity, p } from "@mikro-orm/core";

/** A secret that seals quotes. */
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

/** A secret that signs API keys. */
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

/** The seed of a key that signs x402 offers and receipts. */
export const SigningKeyEntity = defineEntity({
  name: "SigningKey",
  tableName: "signing_key",
  properties: {
    version: p.integer().primary().autoincrement(false),
    secret: p.blob(),
    activeFrom: p.datetime().length(6),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
