import { defineEntity, p } from "@mikro-orm/core";

/** The token bucket of a key or an account: the microsecond at which it is full again. */
export const RateBucketEntity = defineEntity({
  name: "RateBucket",
  tableName: "rate_bucket",
  properties: {
    bucketId: p.uuid().primary(),
    tat: p.bigint(),
  },
});
