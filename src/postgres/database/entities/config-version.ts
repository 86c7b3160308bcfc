import { defineEntity, p } from "@mikro-orm/core";

/** A version of the configuration; append-only. The newest is in force. */
export const ConfigVersionEntity = defineEntity({
  name: "ConfigVersion",
  tableName: "config_version",
  properties: {
    version: p.integer().primary().autoincrement(false),
    document: p.text(),
    checksum: p.blob(),
    source: p.text(),
    actor: p.text(),
    note: p.text().nullable(),
    appliedAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
