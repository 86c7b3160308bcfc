import { randomUUID } from "node:crypto";
import type { Command } from "commander";
import type { Account } from "../app/accounts/accounts.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { DEFAULT_SCOPES } from "../domain/accounts/scope.ts";
import type { Postgres } from "../postgres/index.ts";
import {
  address,
  count,
  countOrNone,
  reason,
  signedUsdc,
  outputFor,
  limitOption,
  printPage,
  type PageOptions,
} from "./command.ts";
import { withPostgres } from "./database.ts";

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
  tier?: string;
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

/** `accounts create | list | show | explain | adjust | tier | block | unblock | operator` */
export function addAccountCommands(program: Command): void {
  const accounts = program.command("accounts").description("manages accounts");

  accounts
    .command("create")
    .description(
      "creates the account of a wallet or returns the existing one; " +
        "with --count, creates funded accounts with a key each",
    )
    .option("--wallet <address>", "wallet of the account", address)
    .option("--count <n>", "create N accounts with new wallets, one JSON line each (load tests)", count)
    .option("--usdc <amount>", "starting balance in USDC, recorded as an adjustment", signedUsdc)
    .option("--rate <n>", "requests per minute of each key", count)
    .option("--burst <n>", "burst of each key", count)
    .option("--json", "print JSON")
    .action(create);

  addReadCommands(accounts);
  addExplainCommand(accounts);

  accounts
    .command("adjust")
    .description("credits or debits a balance; the ledger keeps the reason")
    .requiredOption("--account <id>", "account")
    .requiredOption("--usdc <amount>", "amount to add in USDC, e.g. 5.00 or -0.50", signedUsdc)
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
    .description("sets the tier of an account, or limits of its own instead of the tier's; omitted ones stay")
    .requiredOption("--account <id>", "account")
    .option("--tier <name>", "tier of the configuration")
    .option("--rate <n>", "sustained requests per minute of each key; 0: the tier's", countOrNone)
    .option("--burst <n>", "burst of each key; 0: the tier's", countOrNone)
    .option("--account-rate <n>", "requests per minute of all keys together; 0: the tier's", countOrNone)
    .option("--account-burst <n>", "burst of all keys together; 0: the tier's", countOrNone)
    .option("--json", "print JSON")
    .action(setTier);

  addBlockCommands(accounts);

  accounts
    .command("operator")
    .description("grants or revokes the operator role, which the operator's services and pages require")
    .requiredOption("--account <id>", "account")
    .option("--revoke", "revoke the role")
    .option("--json", "print JSON")
    .action(async (options: { account: string; revoke?: boolean; json?: boolean }) => {
      const account = await withPostgres((postgres) =>
        postgres.accounts.setOperator(options.account, options.revoke !== true),
      );
      outputFor(options.json ?? false).record(accountRecord(account));
    });
}

function addExplainCommand(accounts: Command): void {
  accounts
    .command("explain")
    .description(
      "lists changes of balances that the audit cannot explain (balance_steps); --reason explains them",
    )
    .option("--account <id>", "only those of this account; required with --reason")
    .option("--reason <text>", "what changed the balance, and how it was corrected", reason)
    .option("--json", "print JSON")
    .action(explain);
}

async function explain(
  { account: accountId, reason: why, json = false }: { account?: string; reason?: string; json?: boolean },
  command: Command,
): Promise<void> {
  if (why !== undefined && accountId === undefined) command.error("error: --reason needs --account");
  await withPostgres(async ({ accounts, balanceSteps }) => {
    if (accountId !== undefined) await accounts.get(accountId);
    const steps = await balanceSteps.unexplained(accountId);
    for (const step of steps) {
      if (why !== undefined) await balanceSteps.explain(step, why);
      outputFor(json).record({
        account_id: step.accountId,
        number: step.number,
        explained: why !== undefined,
      });
    }
  });
}

async function setTier(
  { account: accountId, json = false, ...change }: TierOptions,
  command: Command,
): Promise<void> {
  if (Object.keys(change).length === 0)
    command.error("error: give at least one of --tier, --rate, --burst, --account-rate and --account-burst");
  const { tier, rate: ratePerMinute, burst, accountRate: accountRatePerMinute, accountBurst } = change;
  const limits = { tier, ratePerMinute, burst, accountRatePerMinute, accountBurst };
  const account = await withPostgres((postgres) => postgres.accounts.setTier(accountId, limits));
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
    .description("lists accounts, newest first; with --json a last line has next_cursor if there are more")
    .option(
      "--query <text>",
      "only accounts whose id, wallet, key id or key prefix starts with this text",
      "",
    )
    .addOption(limitOption("accounts"))
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--json", "print JSON lines")
    .action(async (options: PageOptions & { query: string }) => {
      const { query, limit, cursor } = options;
      const page = await withPostgres((postgres) => postgres.accounts.list({ query, limit, cursor }));
      printPage(page, { json: options.json, record: accountRecord, nothing: "No matching accounts." });
    });
}

function addBlockCommands(accounts: Command): void {
  const kinds = [
    { name: "block", blocked: true, does: "blocks an account's keys; the account holder sees the reason" },
    {
      name: "unblock",
      blocked: false,
      does: "unblocks an account's keys; the operator log keeps the reason",
    },
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
    tier: account.tierName,
    rate_per_minute: account.tier.ratePerMinute,
    burst: account.tier.burst,
    account_rate_per_minute: account.accountTier.ratePerMinute,
    account_burst: account.accountTier.burst,
    operator: account.operator,
    blocked_reason: account.blockedReason ?? null,
    created_at: account.createdAt,
  };
}
