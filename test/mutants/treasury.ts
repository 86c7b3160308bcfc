import { mutants, type Mutant, sqlFile, type Tests } from "./mutant.ts";

const AFTER_RESTORE = "test/cli/after-restore.test.ts";
const WALLETS: Tests = {
  files: ["test/crediting/wallet-payments.test.ts"],
  only: "the transaction of a quote|transactions of a deposit that are not sent",
};

/** Treasury movements, reversals, deposits, sealed history and restored databases. */
export const TREASURY: readonly Mutant[] = [
  ...mutants(sqlFile("migrations/0001_baseline.sql"), "test/postgres/database/constraints.test.ts", {
    "movement-once": [
      "A transaction moves the treasury account once.",
      "primary key (token_account, tx_signature)",
      "unique (token_account, tx_signature, created_at)",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_record.sql"), "test/postgres/treasury/treasury-ledger.test.ts", {
    "movement-credited": [
      "A movement that names a quote is credited to its account.",
      "perform ledger_transfer(treasury, holder, change, 'deposit'",
      "perform ledger_transfer(treasury, suspense, change, 'deposit'",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_record.sql"), "test/postgres/treasury/treasury-ledger.test.ts", {
    "movement-as-credited": [
      "A movement with another amount than was credited changes nothing.",
      "if known.amount <> change then",
      "if false then",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_record.sql"), AFTER_RESTORE, {
    "restored-credited-once": [
      "A payment that was credited before a restore is not credited again.",
      "when known.reversed then 'reinstated' else 'finalized' end",
      "when known.reversed then 'reinstated' else 'credited' end",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_reverse.sql"), "test/postgres/treasury/corrections.test.ts", {
    "reverse-once": [
      "A payment is reversed once.",
      "and not finalized and (again or not reversed)",
      "and not finalized",
    ],
    "reverse-unfinalized": [
      "A finalized payment is not reversed.",
      "and not finalized and (again or not reversed)",
      "and (again or not reversed)",
    ],
  }),
  ...mutants(sqlFile("functions/ledger_transfer.sql"), "test/postgres/treasury/corrections.test.ts", {
    "reversal-debits": ["A reversal debits the balance.", "else -amount end", "else 0 end"],
  }),
  ...mutants(sqlFile("functions/treasury_assign.sql"), "test/postgres/treasury/suspense.test.ts", {
    "assign-once": [
      "A transfer in suspense is assigned once.",
      "if given.assigned_to is not null then",
      "if false then",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_assign.sql"), "test/postgres/treasury/suspense.test.ts", {
    "assign-suspense": [
      "Only transfers in suspense are assigned.",
      "and p.account_id = suspense and not p.reversed",
      "and not p.reversed",
    ],
  }),
  ...mutants(sqlFile("functions/treasury_lead.sql"), "test/postgres/treasury/treasury-ledger.test.ts", {
    "one-leader": [
      "One instance at a time leads the treasury jobs.",
      "where held.owner = excluded.owner or held.until < now()",
      "",
    ],
  }),
  ...mutants("src/app/jobs/background-worker.ts", "test/app/jobs/background-worker.test.ts", {
    "leader-lapses": [
      "An instance that cannot renew its leader lease stops before another can take it.",
      "setTimeout(() => this.#stopLeading(), this.#leaseMs * LOCAL_SHARE)",
      "setTimeout(() => {}, this.#leaseMs * LOCAL_SHARE)",
    ],
  }),
  ...mutants("src/solana/treasury/finality-statuses.ts", "test/solana/treasury/finality-statuses.test.ts", {
    "vanished-denied-everywhere": [
      "A payment has vanished only if every endpoint denies it.",
      "if (disproofs.includes(undefined))",
      "if (disproofs.every((disproof) => disproof === undefined))",
    ],
    "finalized-as-credited": [
      "A payment is finalized with the credited amount.",
      "reading.movement.change === payment.amount",
      "reading.movement.change !== 0n",
    ],
  }),
  ...mutants("src/solana/treasury/treasury-movement.ts", "test/solana/treasury/movement-reading.test.ts", {
    "movement-own-account": [
      "A transfer to a treasury account that changed its owner is not credited.",
      "&& before.own && after.own",
      "",
    ],
  }),
  ...mutants("src/app/jobs/record-history.ts", "test/app/jobs/watch-treasury.test.ts", {
    "watch-waits-for-the-rest": [
      "The treasury cursor moves only after everything was recorded.",
      "if (failures.length > 0) {",
      "if (false) {",
    ],
  }),
  ...mutants("src/app/deposits/account-deposits.ts", WALLETS, {
    "wallet-quote-account": [
      "A wallet gets transactions only for quotes of its own account.",
      "if (quote?.accountId !== accountId)",
      "if (!quote)",
    ],
  }),
  ...mutants("src/payments/wallet/signed-payment.ts", WALLETS, {
    "wallet-pays-treasury": [
      "The gateway submits for wallets only transactions that pay the treasury.",
      "destination?.equals(treasury) !== true",
      "!destination",
    ],
  }),
  ...mutants("src/postgres/operations/seals.ts", "test/postgres/operations/seals.test.ts", {
    "seal-checked": [
      "An audit of all history compares it with each seal.",
      '"select wrong from sealed"',
      '"select false as wrong"',
    ],
  }),
  ...mutants("src/app/operations/logged-seals.ts", "test/app/operations/logged-seals.test.ts", {
    "seal-logged": [
      "The full audit compares each seal with the operator log.",
      "found?.hash !== hash",
      "found === undefined",
    ],
  }),
  ...mutants("src/postgres/treasury/treasury-checks.ts", "test/postgres/operations/audit.test.ts", {
    "refund-recorded": [
      "The audit finds a refund without an operator's action.",
      "receipt.id is null or act.target is null",
      "receipt.id is null",
    ],
    "adjustment-recorded": [
      "The audit finds an adjustment without an operator's action.",
      "= given.ref, false)",
      "= given.ref, true)",
    ],
    "assignment-recorded": [
      "The audit finds an assignment without an operator's action.",
      "given.assignments > coalesce(act.transfers, 0)",
      "given.assignments < 0",
    ],
  }),
  ...mutants("src/app/operations/archive/archive-months.ts", "test/postgres/archive/archive.test.ts", {
    "restore-unchanged": [
      "A month is restored only beside entries that are those that were sealed.",
      "await store.requireUnchanged();\n      await store.prepare(month);",
      "await store.prepare(month);",
    ],
    "restore-sealed": [
      "A month that comes back has the receipts that were sealed.",
      "await store.requireSealed(month);",
      "",
    ],
  }),
  ...mutants("src/app/operations/archive/verify-month.ts", "test/postgres/archive/archive.test.ts", {
    "archive-verified": [
      "A month is dropped only if each row that was read back is that of the table.",
      "if (column || !expected)",
      "if (!expected)",
    ],
  }),
  ...mutants("src/postgres/database/start-checks.ts", AFTER_RESTORE, {
    "restored-refused": [
      "A restored database is served only after `after-restore`.",
      "if (!found || found.reconciledAt !== null) return [];",
      "if (!found || found.mark) return [];",
    ],
  }),
  ...mutants("src/cli/after-restore.ts", AFTER_RESTORE, {
    "restored-keys": [
      "Keys that the operator log knows as revoked are revoked again.",
      "(used < since && !revoked.has(keyId))",
      "used < since",
    ],
  }),
];
