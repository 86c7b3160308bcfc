import { DEPOSITS } from "./deposits.ts";
import { DOORS } from "./doors.ts";
import { EVIDENCE } from "./evidence.ts";
import { GASLESS } from "./gasless.ts";
import { KEY_LIMITS } from "./key-limits.ts";
import { KEYLESS } from "./keyless.ts";
import { LEDGER } from "./ledger.ts";
import { LEDGER_TABLES } from "./ledger-tables.ts";
import { MEMORY } from "./memory.ts";
import type { Mutant } from "./mutant.ts";
import { PAYMENTS } from "./payments.ts";
import { RELAY } from "./relays.ts";
import { SANDBOX } from "./sandbox.ts";
import { STRANGERS } from "./strangers.ts";
import { TREASURY } from "./treasury.ts";
import { TREASURY_CHAIN } from "./treasury-chain.ts";
import { UNPAID_WORK } from "./unpaid-work.ts";

/** Every guard of the money path that must not be lost unnoticed. */
export const MUTANTS: readonly Mutant[] = [
  ...LEDGER_TABLES,
  ...LEDGER,
  ...PAYMENTS,
  ...EVIDENCE,
  ...TREASURY,
  ...TREASURY_CHAIN,
  ...DEPOSITS,
  ...GASLESS,
  ...RELAY,
  ...DOORS,
  ...STRANGERS,
  ...KEY_LIMITS,
  ...MEMORY,
  ...SANDBOX,
  ...UNPAID_WORK,
  ...KEYLESS,
];
