import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { Account } from "../app/accounts/accounts.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { DEFAULT_SCOPES } from "../domain/accounts/scope.ts";
import type { Postgres } from "../postgres/index.ts";
import { address, count, countOrNone, reason, signedUsdc } from "./arguments.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";
import { limitOption, printPage, type PageOptions } from "./page.ts";

interface CreateOptions {
  wallet?: string;
  count?: number;
  usdc?: bigint;
  rate?: number;
  burst?: number;
  json?: boolean;
}

interface TierOptions {
  account: string;
  rate?: number;
  burst?: number;
  accountRate?: number;
  accountBurst?: number;
  json?: boolean;
}

interface BlockOptions {
  account: string;
  reason: string;
  json?: boolean;
}

/** `accounts create | list | show | adjust | tier | block | unblock | operator` */
export function addAccountCommands(program: Command): void {
  const accounts = program.command("accounts").description("operator's account work");

  accounts
    .command("create")
    .description(
      "makes the account of a wallet (or finds the one it has); with --count, makes many funded ones with a key each",
    )
    .option("--wallet <address>", "wallet that the account belongs to", address)
    .option("--count <n>", "make N accounts of fresh wallets, one JSON line each (load tests)", count)
    .option("--usdc <amount>", "starting balance in USDC, booked as an adjustment", signedUsdc)
    .option("--rate <n>", "requests per minute of each of its keys", count)
    .option("--burst <n>", "requests at once of each of its keys", count)
    .option("--json", "print JSON")
    .action(create);

  addReadCommands(accounts);

  accounts
    .command("adjust")
    .description("adds to a balance, or takes from it; the reason stays in the ledger")
    .requiredOption("--account <id>", "account")
    .requiredOption("--usdc <amount>", "what to add in USDC, e.g. 5.00 or -0.50", signedUsdc)
    .requiredOption("--reason <text>", "why", reason)
    .option("--key <key>", "idempotency key: a repeat with the same key changes nothing")
    .option("--json", "print JSON")
    .action(
      async (options: { account: string; usdc: bigint; reason: string; key?: string; json?: boolean }) => {
        const account = await withPostgres((postgres) =>
          postgres.accounts.adjust({
            accountId: options.account,
            amount: options.usdc,
            reason: options.reason,
            idempotencyKey: options.key ?? randomUUID(),
          }),
        );
        outputFor(options.json ?? false).record(accountRecord(account));
      },
    );

  accounts
    .command("tier")
    .description("sets the rate limits of an account; what is left out stays")
    .requiredOption("--account <id>", "account")
    .option("--rate <n>", "requests per minute of each of its keys in the long run", count)
    .option("--burst <n>", "requests at once of each of its keys", count)
    .option(
      "--account-rate <n>",
      "requests per minute of all its keys together; 0: ten keys' worth",
      countOrNone,
    )
    .option(
      "--account-burst <n>",
      "requests at once of all its keys together; 0: ten keys' worth",
      countOrNone,
    )
    .option("--json", "print JSON")
    .action(setTier);

  addBlockCommands(accounts);

  accounts
    .command("operator")
    .description(
      "gives an account the operator role, which the operator's services and pages ask for, or takes it",
    )
    .requiredOption("--account <id>", "account")
    .option("--revoke", "take the role")
    .option("--json", "print JSON")
    .action(async (options: { account: string; revoke?: boolean; json?: boolean }) => {
      const account = await withPostgres((postgres) =>
        postgres.accounts.setOperator(options.account, options.revoke !== true),
      );
      outputFor(options.json ?? false).record(accountRecord(account));
    });
}

async function setTier(
  { account: accountId, json = false, ...tier }: TierOptions,
  command: Command,
): Promise<void> {
  if (Object.keys(tier).length === 0)
    command.error("error: give at least one of --rate, --burst, --account-rate and --account-burst");
  const { rate: ratePerMinute, burst, accountRate: accountRatePerMinute, accountBurst } = tier;
  const account = await withPostgres((postgres) =>
    postgres.accounts.setTier(accountId, { ratePerMinute, burst, accountRatePerMinute, accountBurst }),
  );
  outputFor(json).record(accountRecord(account));
}

function addReadCommands(accounts: Command): void {
  accounts
    .command("show")
    .description("shows an account")
    .requiredOption("--account <id>", "account")
    .option("--json", "print JSON")
    .action(async (options: { account: string; json?: boolean }) => {
      const account = await withPostgres((postgres) => postgres.accounts.get(options.account));
      outputFor(options.json ?? false).record(accountRecord(account));
    });

  accounts
    .command("list")
    .description(
      "lists accounts, newest first; where there are more, --json ends with a line that has only next_cursor",
    )
    .option(
      "--query <text>",
      "only those whose identifier, wallet, key identifier or key prefix begins like this",
      "",
    )
    .addOption(limitOption("accounts"))
    .option("--cursor <cursor>", "go on where the list before ended")
    .option("--json", "print JSON lines")
    .action(async (options: PageOptions & { query: string }) => {
      const { query, limit, cursor } = options;
      const page = await withPostgres((postgres) => postgres.accounts.list({ query, limit, cursor }));
      printPage(page, { json: options.json, record: accountRecord, nothing: "There are no such accounts." });
    });
}

function addBlockCommands(accounts: Command): void {
  const kinds = [
    { name: "block", blocked: true, does: "refuses an account's keys; its owner is told the reason" },
    { name: "unblock", blocked: false, does: "lets an account's keys in again; the reason stays in the log" },
  ];
  for (const { name, blocked, does } of kinds) {
    accounts
      .command(name)
      .description(does)
      .requiredOption("--account <id>", "account")
      .requiredOption("--reason <text>", "why", reason)
      .option("--json", "print JSON")
      .action(async ({ account: accountId, reason, json = false }: BlockOptions) => {
        const account = await withPostgres(({ accounts: port }) =>
          port.setBlocked(accountId, { blocked, reason }),
        );
        outputFor(json).record(accountRecord(account));
      });
  }
}

async function create(options: CreateOptions, command: Command): Promise<void> {
  if ((options.wallet === undefined) === (options.count === undefined))
    command.error("error: give either --wallet or --count");
  await withPostgres(async (postgres) => {
    if (options.wallet !== undefined) {
      outputFor(options.json ?? false).record(
        accountRecord(await createOne(postgres, options.wallet, options)),
      );
      return;
    }
    const { Keypair } = await import("@solana/web3.js");
    for (let made = 0; made < (options.count ?? 0); made += 1) {
      const account = await createOne(postgres, Keypair.generate().publicKey.toBase58(), options);
      const { secret } = await postgres.apiKeys.create({
        accountId: account.accountId,
        name: "load test",
        scopes: DEFAULT_SCOPES,
      });
      outputFor(true).record({ ...accountRecord(account), api_key: secret });
    }
  });
}

async function createOne(postgres: Postgres, wallet: string, options: CreateOptions): Promise<Account> {
  let account = await postgres.accounts.create(wallet);
  const { accountId } = account;
  if (options.rate !== undefined || options.burst !== undefined) {
    account = await postgres.accounts.setTier(accountId, {
      ratePerMinute: options.rate,
      burst: options.burst,
    });
  }
  if (options.usdc === undefined) return account;
  return postgres.accounts.adjust({
    accountId,
    amount: options.usdc,
    reason: "starting balance",
    idempotencyKey: randomUUID(),
  });
}

function accountRecord(account: Account): Record<string, unknown> {
  return {
    account_id: account.accountId,
    wallet: account.wallet,
    balance_usdc: formatUsdc(account.balance),
    rate_per_minute: account.tier.ratePerMinute,
    burst: account.tier.burst,
    account_rate_per_minute: account.accountTier.ratePerMinute,
    account_burst: account.accountTier.burst,
    operator: account.operator,
    blocked_reason: account.blockedReason ?? null,
    created_at: account.createdAt,
  };
}
