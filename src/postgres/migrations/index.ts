import { Tables } from "./0001-tables.ts";
import { Receipts } from "./0002-receipts.ts";
import { Judge } from "./0003-judge.ts";
import { Begin } from "./0004-begin.ts";
import { Finish } from "./0005-finish.ts";
import { Deposits } from "./0006-deposits.ts";
import { RateBuckets } from "./0007-rate-buckets.ts";
import { KeyChanges } from "./0008-key-changes.ts";
import { Treasury } from "./0009-treasury.ts";
import { Movements } from "./0010-movements.ts";
import { Corrections } from "./0011-corrections.ts";
import { Rights } from "./0012-rights.ts";
import { Sandbox } from "./0013-sandbox.ts";
import { Relays } from "./0014-relays.ts";
import { Console } from "./0015-console.ts";
import { KeyLimits } from "./0016-key-limits.ts";
import { Sessions } from "./0017-sessions.ts";
import { Operations } from "./0018-operations.ts";
import { Statement } from "./0019-statement.ts";
import { Retention } from "./0020-retention.ts";
import { KeptPlans } from "./0021-kept-plans.ts";
import { ReadByKeys } from "./0022-read-by-keys.ts";
import { RefundNotices } from "./0023-refund-notices.ts";
import { BeatByKey } from "./0024-beat-by-key.ts";
import { Glance } from "./0025-glance.ts";
import { BegunMeanwhile } from "./0026-begun-meanwhile.ts";
import { FinishByKeys } from "./0027-finish-by-keys.ts";
import { KeySecrets } from "./0028-key-secrets.ts";
import { AccountLimits } from "./0029-account-limits.ts";
import { ConnectedOwners } from "./0030-connected-owners.ts";
import { TimesOfIds } from "./0031-times-of-ids.ts";
import { UnpaidWork } from "./0032-unpaid-work.ts";
import { RelayRisk } from "./0034-relay-risk.ts";

/** Every migration, in order. One that was released is never changed: add another. */
export const MIGRATIONS = [
  Tables,
  Receipts,
  Judge,
  Begin,
  Finish,
  Deposits,
  RateBuckets,
  KeyChanges,
  Treasury,
  Movements,
  Corrections,
  Rights,
  Sandbox,
  Relays,
  Console,
  KeyLimits,
  Sessions,
  Operations,
  Statement,
  Retention,
  KeptPlans,
  ReadByKeys,
  RefundNotices,
  BeatByKey,
  Glance,
  BegunMeanwhile,
  FinishByKeys,
  KeySecrets,
  AccountLimits,
  ConnectedOwners,
  TimesOfIds,
  UnpaidWork,
  RelayRisk,
];
