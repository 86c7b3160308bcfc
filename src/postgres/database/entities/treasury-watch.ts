import { defineEntity, p } from "@mikro-orm/core";

/** How far a treasury token account was scanned, and its expected balance there. */
export const TreasuryWatchEntity = defineEntity({
  name: "TreasuryWatch",
  tableName: "treasury_watch",
  properties: {
    tokenAccount: p.blob().primary(),
    slot: p.bigint(),
    lookedAt: p.datetime().length(6).defaultRaw("now()"),
    openingAmount: p.bigint(),
    openingSlot: p.bigint(),
    expected: p.bigint(),
    installedAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
