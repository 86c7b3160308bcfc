import { defineEntity, p } from "@mikro-orm/core";

/** How far the history of a token account of the treasury was read, and what it must hold by then. */
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
