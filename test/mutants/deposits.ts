import type { Mutant } from "./mutant.ts";

const DEPOSIT = "src/domain/deposits/deposit.ts";
const ACCOUNT = "src/app/deposits/account-deposits.ts";
const TABLE = "src/postgres/deposits/deposits.ts";
const SIGNED = "src/payments/wallet/signed-payment.ts";
const DOMAIN = ["test/domain/deposits/deposit.test.ts"];
const STATUS = ["test/crediting/deposits.test.ts"];
const WALLETS = ["test/crediting/wallet-payments.test.ts"];

/** Deposits of the console, and transactions sent for wallets. */
export const DEPOSITS: readonly Mutant[] = [
  {
    name: "deposit-known",
    guard: "A transfer that names an unknown deposit goes to suspense.",
    file: "src/app/jobs/record-history.ts",
    find: "accountId === undefined ? undefined : { accountId, quoteId: named.depositId }",
    replace: '{ accountId: accountId ?? "", quoteId: named.depositId }',
    tests: ["test/app/jobs/watch-treasury.test.ts"],
  },
  {
    name: "deposit-credited-by-ledger",
    guard: "A deposit is credited when the ledger says so, not when the chain shows it final.",
    file: DEPOSIT,
    find: "if (credited > 0n) return",
    replace: 'if (credited > 0n || match?.stage === "finalized") return',
    tests: DOMAIN,
  },
  {
    name: "deposit-named",
    guard: "A transaction that only carries a deposit's reference is not its transfer.",
    file: DEPOSIT,
    find: "const named = reading.memo === memo;",
    replace: "const named = true;",
    tests: DOMAIN,
  },
  {
    name: "deposit-no-proof",
    guard: "A deposit cannot be the proof of a call.",
    file: "src/app/payments/chain-payment.ts",
    find: 'if (memo?.form === "deposit") throw',
    replace: 'if (memo?.form === "deposit" && false) throw',
    tests: WALLETS,
    only:
      "refuses a deposit's transfer as a proof with the reason, and keeps it |treats a transfer with " +
      "the deposit's reference and a quote's memo as a",
  },
  {
    name: "deposit-own",
    guard: "An account sees only its own deposits.",
    file: TABLE,
    find: "where deposit.account_id = $1 and deposit.id = $2",
    replace: "where ($1::uuid is not null) and deposit.id = $2",
    tests: STATUS,
    only: "hides a deposit|returns the last known status, and a credit without the chain",
  },
  {
    name: "deposit-waiting",
    guard: "The number of waiting deposits per account is limited.",
    file: TABLE,
    find: ") < $6",
    replace: ") < $6 + 50",
    tests: STATUS,
    only:
      "allows a hundred waiting deposits a day, and more after one is credite|creates a deposit with a " +
      "memo, a reference and a transfer request",
  },
  {
    name: "wallet-quote-account",
    guard: "A wallet gets transactions only for quotes of its own account.",
    file: ACCOUNT,
    find: "if (quote?.accountId !== accountId)",
    replace: "if (!quote)",
    tests: WALLETS,
    only: "the transaction of a quote",
  },
  {
    name: "wallet-pays-treasury",
    guard: "The gateway submits for wallets only transactions that pay the treasury.",
    file: SIGNED,
    find: "destination?.equals(treasury) !== true",
    replace: "!destination",
    tests: WALLETS,
    only: "transactions of a deposit that are not sent",
  },
  {
    name: "wallet-signed",
    guard: "The gateway submits for wallets only transactions they signed.",
    file: SIGNED,
    find: "if (!key || !isSignedBy(key, message, signature))",
    replace: "if (!key)",
    tests: WALLETS,
    only: "transactions of a deposit that are not sent",
  },
];
