import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** Limits of a key or a group of keys per UTC day, per month and in all, and what counts against them. */
export const BudgetEntity = defineEntity({
  name: "Budget",
  tableName: "budget",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    name: p.text().nullable(),
    dayLimit: p.bigint().nullable(),
    monthLimit: p.bigint().nullable(),
    totalLimit: p.bigint().nullable(),
    warnPercent: p.integer().default(80),
    day: p.date(),
    month: p.date(),
    daySpent: p.bigint().defaultRaw("0"),
    monthSpent: p.bigint().defaultRaw("0"),
    totalSpent: p.bigint().defaultRaw("0"),
    dayLevel: p.integer().default(0),
    monthLevel: p.integer().default(0),
    totalLevel: p.integer().default(0),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});
