import { defineEntity, p } from "@mikro-orm/core";

/** Token bucket of a key or an account: the microsecond when it is full again. */
export const RateBucketEntity = defineEntity({
  name: "RateBucket",
  tableName: "rate_bucket",
  properties: {
    bucketId: p.uuid().primary(),
    tat: p.bigint(),
  },
});
