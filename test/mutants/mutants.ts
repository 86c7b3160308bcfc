import { ACCESS } from "./access.ts";
import { GASLESS } from "./gasless.ts";
import { LEDGER } from "./ledger.ts";
import { LIMITS } from "./limits.ts";
import type { Mutant } from "./mutant.ts";
import { OAUTH } from "./oauth.ts";
import { PAYMENTS } from "./payments.ts";
import { TREASURY } from "./treasury.ts";

/** Every guard of money, authentication, isolation and limits that a test must notice. */
export const MUTANTS: readonly Mutant[] = [
  ...LEDGER,
  ...PAYMENTS,
  ...TREASURY,
  ...GASLESS,
  ...ACCESS,
  ...LIMITS,
  ...OAUTH,
];
