import type { EntitySchema } from "@mikro-orm/core";
import * as accounts from "./accounts.ts";
import * as calls from "./calls.ts";
import * as money from "./money.ts";
import * as oauth from "./oauth.ts";
import * as operations from "./operations.ts";
import * as webhook from "./webhook.ts";

/** Every table, as MikroORM entities. */
export const ENTITIES = [accounts, calls, money, oauth, operations, webhook].flatMap((tables) =>
  Object.values<EntitySchema>(tables),
);
