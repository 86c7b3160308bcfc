import { defineEntity, p } from "@mikro-orm/core";

/** The instance that runs the singleton jobs, and until when. */
export const LeadershipEntity = defineEntity({
  name: "Leadership",
  tableName: "leadership",
  properties: {
    name: p.text().primary(),
    owner: p.uuid(),
    until: p.datetime().length(6),
  },
});
