import { defineEntity, p } from "@mikro-orm/core";

/** A key's token bucket: the microsecond at which it is full again. */
export const RateBucketEntity = defineEntity({
  name: "RateBucket",
  tableName: "rate_bucket",
  properties: {
    keyId: p.uuid().primary(),
    tat: p.bigint(),
  },
});
