import { defineEntity, p } from "@mikro-orm/core";

/** How one transaction changed a token account of the treasury; append-only. */
export const TreasuryMovementEntity = defineEntity({
  name: "TreasuryMovement",
  tableName: "treasury_movement",
  indexes: [{ properties: ["createdAt"] }],
  properties: {
    tokenAccount: p.blob().primary(),
    txSignature: p.blob().primary(),
    slot: p.bigint(),
    blockTime: p.datetime().length(6),
    change: p.bigint(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
