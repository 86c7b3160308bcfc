import { ARCHIVE } from "./archive.ts";
import { AUTHENTICATION } from "./authentication.ts";
import { CACHES } from "./caches.ts";
import { CELLS } from "./cells.ts";
import { CONFIGURATION } from "./configuration.ts";
import { DEPOSITS } from "./deposits.ts";
import { DRAINING } from "./draining.ts";
import { EVIDENCE } from "./evidence.ts";
import { FAILOVER } from "./failover.ts";
import { GASLESS } from "./gasless.ts";
import { KEY_LIMITS } from "./key-limits.ts";
import { KEYLESS } from "./keyless.ts";
import { LEDGER_TABLES } from "./ledger-tables.ts";
import { LEDGER } from "./ledger.ts";
import { METERING } from "./metering.ts";
import type { Mutant } from "./mutant.ts";
import { OFFER_RECEIPT } from "./offer-receipt.ts";
import { OWN_RECORDS } from "./own-records.ts";
import { PAYMENTS } from "./payments.ts";
import { RELAY } from "./relays.ts";
import { REQUEST_COSTS } from "./request-costs.ts";
import { REQUEST_LOG } from "./request-log.ts";
import { RESTORES } from "./restores.ts";
import { SANDBOX } from "./sandbox.ts";
import { SEALS } from "./seals.ts";
import { STALLS } from "./stalls.ts";
import { TRACES } from "./traces.ts";
import { TREASURY_CHAIN } from "./treasury-chain.ts";
import { TREASURY } from "./treasury.ts";
import { UNPAID_WORK } from "./unpaid-work.ts";
import { WEBHOOKS } from "./webhooks.ts";
import { USAGE } from "./usage.ts";

/** Guards that belong together, under the title they have in docs/reference/guards.md. */
export interface MutantGroup {
  readonly title: string;
  readonly mutants: readonly Mutant[];
}

export const MUTANT_GROUPS: readonly MutantGroup[] = [
  { title: "Tables", mutants: LEDGER_TABLES },
  { title: "Ledger functions", mutants: LEDGER },
  { title: "Sealed history", mutants: SEALS },
  { title: "Usage reports", mutants: USAGE },
  { title: "Archived months", mutants: ARCHIVE },
  { title: "Stalled instances", mutants: STALLS },
  { title: "Quotes and proofs", mutants: PAYMENTS },
  { title: "Evidence on the chain", mutants: EVIDENCE },
  { title: "Treasury in the ledger", mutants: TREASURY },
  { title: "Treasury on the chain", mutants: TREASURY_CHAIN },
  { title: "Deposits and wallets", mutants: DEPOSITS },
  { title: "Gasless rules", mutants: GASLESS },
  { title: "Gasless limits and outcomes", mutants: RELAY },
  { title: "Authentication and rate limits", mutants: AUTHENTICATION },
  { title: "Cost of a request", mutants: REQUEST_COSTS },
  { title: "Limits of keys", mutants: KEY_LIMITS },
  { title: "Caches", mutants: CACHES },
  { title: "Sandbox", mutants: SANDBOX },
  { title: "Uncharged work", mutants: UNPAID_WORK },
  { title: "Metered charges", mutants: METERING },
  { title: "Versions of the configuration", mutants: CONFIGURATION },
  { title: "Restarts and switches", mutants: DRAINING },
  { title: "Failover of the database", mutants: FAILOVER },
  { title: "Callers without a key", mutants: KEYLESS },
  { title: "Signed offers and receipts", mutants: OFFER_RECEIPT },
  { title: "Cells", mutants: CELLS },
  { title: "Restored databases", mutants: RESTORES },
  { title: "Request log", mutants: REQUEST_LOG },
  { title: "Traces", mutants: TRACES },
  { title: "Search by identifier", mutants: OWN_RECORDS },
  { title: "Webhooks", mutants: WEBHOOKS },
];

/** Every guard, in the order of the groups. */
export const MUTANTS: readonly Mutant[] = MUTANT_GROUPS.flatMap(({ mutants }) => mutants);
