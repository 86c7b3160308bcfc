import { Tables } from "./0001-tables.ts";
import { Receipts } from "./0002-receipts.ts";
import { Begin } from "./0003-begin.ts";
import { Finish } from "./0004-finish.ts";
import { Deposits } from "./0005-deposits.ts";
import { RateBuckets } from "./0006-rate-buckets.ts";
import { KeyChanges } from "./0007-key-changes.ts";

/** Every migration, in order. One that was released is never changed: add another. */
export const MIGRATIONS = [Tables, Receipts, Begin, Finish, Deposits, RateBuckets, KeyChanges];
