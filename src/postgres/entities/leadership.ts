import { defineEntity, p } from "@mikro-orm/core";

/** Which instance does what need be done once, and until when. */
export const LeadershipEntity = defineEntity({
  name: "Leadership",
  tableName: "leadership",
  properties: {
    name: p.text().primary(),
    owner: p.uuid(),
    until: p.datetime().length(6),
  },
});
