import type { Mutant } from "./mutant.ts";

const PROMOTION = ["test/postgres/database/promotion.test.ts"];
const SERVERS = ["test/postgres/database/standby.test.ts"];

/** What keeps every connection on the primary. */
export const FAILOVER: readonly Mutant[] = [
  {
    name: "promotion-drops-connections",
    guard: "Connections to the old primary end when one to its successor is opened.",
    file: "src/postgres/database/primary.ts",
    find: `if (timeline > (this.#latest?.timeline ?? timeline)) this.drop("the primary has changed");`,
    replace: "",
    tests: PROMOTION,
  },
  {
    name: "old-primary-refused",
    guard: "A server that was the primary until a promotion is refused, although it accepts writes.",
    file: "src/postgres/database/primary.ts",
    find: "identity.timeline < this.#latest.timeline",
    replace: "identity.timeline < 0",
    tests: PROMOTION,
  },
  {
    name: "other-cluster-refused",
    guard: "A server of another database cluster is refused.",
    file: "src/postgres/database/primary.ts",
    find: "identity.cluster !== this.#latest.cluster",
    replace: "identity.timeline < 0",
    tests: PROMOTION,
  },
  {
    name: "standby-refused",
    guard: "Of several servers a standby is refused.",
    file: "src/postgres/database/primary.ts",
    find: "identity.readOnly && this.urls.length > 1",
    replace: "identity.timeline < 0",
    tests: SERVERS,
  },
  {
    name: "read-only-drops-connections",
    guard: "All connections end when a write meets a server that accepts none.",
    file: "src/postgres/database/pool.ts",
    find: "isReadOnly(error)",
    replace: "pool.ended",
    tests: SERVERS,
  },
  {
    name: "standby-unlogged",
    guard: "A standby's refusal of an unlogged table counts as a refused write, not as an internal error.",
    file: "src/postgres/database/database-errors.ts",
    find: `|| (unlogged && error.code === UNSUPPORTED)`,
    replace: "",
    tests: SERVERS,
  },
];
