import process from "node:process";
import type { Command } from "commander";
import type { ExplainedFailure, Operations, ServiceStatus } from "../app/operations/operations.ts";
import type { ActionFilter, OperatorAction } from "../app/operations/operator-actions.ts";
import { ConfigError, collectSecrets } from "../config/config.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import type { Postgres } from "../postgres/index.ts";
import { systemClock } from "../system.ts";
import { quotesOf, withPostgres, type CommandConfig } from "./database.ts";
import { outputFor, limitOption, printPage, type PageOptions } from "./command.ts";

/** `operations status | actions | failed-payments` */
export function addOperationsCommands(program: Command): void {
  const operations = program.command("operations").description("shows the status of the service");

  operations
    .command("status")
    .description(
      "shows treasury, fee payer, RPC endpoints and the calls of the last hour; " +
        "needs SOLANA_RPC_URLS and TREASURY_OWNER, or a running dev",
    )
    .option("--json", "print JSON")
    .action(async ({ json = false }: { json?: boolean }) => {
      const status = await withPostgres(async (postgres, config) =>
        (await operationsOf(postgres, config)).status(),
      );
      printStatus(status, json);
    });

  operations
    .command("actions")
    .description(
      "lists the operator log, newest first; with --json a last line has next_cursor if there are more",
    )
    .addOption(limitOption("actions"))
    .option("--action <name>", "only actions of this name, such as account.adjust")
    .option("--operator <id>", "only those of this account or credential")
    .option("--target <id>", "only those on this, such as an account")
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--json", "print JSON lines")
    .action(async ({ json, cursor, ...query }: PageOptions & ActionFilter) => {
      const page = await withPostgres((postgres) => postgres.operatorActions.list({ ...query, cursor }));
      printPage(page, { json, record: actionRecord, nothing: "The operator log is empty." });
    });

  operations
    .command("failed-payments")
    .description(
      "lists payments that did not pay for their call, newest first; " +
        "with --json a last line has next_cursor if there are more",
    )
    .addOption(limitOption("payments"))
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--json", "print JSON lines")
    .action(async ({ limit, cursor, json }: PageOptions) => {
      const page = await withPostgres(async (postgres, config) =>
        (await operationsOf(postgres, config)).failedPayments({ limit, cursor }),
      );
      printPage(page, { json, record: failureRecord, nothing: "No failed payments." });
    });
}

/** @throws ConfigError when the chain is not configured */
async function operationsOf(postgres: Postgres, config: CommandConfig): Promise<Operations> {
  const { TREASURY_OWNER: treasuryOwner, SOLANA_RPC_URLS: urls } = config;
  const missing = Object.entries({ TREASURY_OWNER: treasuryOwner, SOLANA_RPC_URLS: urls });
  const problems = missing.filter(([, value]) => value === undefined).map(([name]) => `${name}: is not set`);
  if (treasuryOwner === undefined || urls === undefined) throw new ConfigError(problems);
  const [{ createOperations: makeOperations }, { openSponsor }, { SolanaRpc }, { treasuryOf }] =
    await Promise.all([
      import("../gateway/services.ts"),
      import("../gateway/relay.ts"),
      import("../solana/rpc/rpc.ts"),
      import("../solana/core/treasury.ts"),
    ]);
  const log = createLogger("error", { secrets: collectSecrets(config) });
  const sponsor = await openSponsor({ ...config, TREASURY_OWNER: treasuryOwner });
  return makeOperations({
    config,
    postgres,
    chain: {
      rpc: new SolanaRpc(urls, { clock: systemClock, log, attemptMs: 3_000 }),
      treasury: treasuryOf(treasuryOwner),
    },
    quotes: quotesOf(postgres, config),
    feePayer: sponsor?.feePayer,
  });
}

function printStatus(status: ServiceStatus, json: boolean): void {
  const { treasury, feePayer, endpoints, minutes, suspense, revenue } = status;
  const { held, watch, problem } = treasury;
  const figures = {
    treasury_owner: treasury.owner,
    token_account: treasury.tokenAccount,
    held_usdc: usdcOrNull(held),
    expected_usdc: usdcOrNull(watch?.expected),
    looked_at: watch?.checkedAt ?? null,
    treasury_problem: problem ?? null,
    liabilities_usdc: formatUsdc(status.liabilities),
    revenue_usdc: usdcOrNull(revenue),
    suspense_count: suspense.count,
    suspense_usdc: formatUsdc(suspense.amount),
    fee_payer: feePayer?.address ?? null,
    fee_payer_lamports: feePayer?.lamports ?? null,
    fee_payer_low_lamports: feePayer?.lowLamports ?? null,
    relay_lamports_today: feePayer?.spentToday ?? null,
    relay_lamports_daily: feePayer?.dailyLamports ?? null,
    active_runs: status.activeRuns,
    completed_last_hour: minutes.reduce((sum, { completed }) => sum + completed, 0),
    failed_last_hour: minutes.reduce((sum, { failed }) => sum + failed, 0),
    charged_usdc_last_hour: formatUsdc(minutes.reduce((sum, { charged }) => sum + charged, 0n)),
  };
  const rows = endpoints.map(({ host, slot, latencyMs, problem: why }) => ({
    endpoint: host,
    slot: slot ?? null,
    latency_ms: latencyMs ?? null,
    problem: why ?? null,
  }));
  const output = outputFor(json);
  if (json) return output.record({ ...figures, endpoints: rows });
  output.record(figures);
  process.stdout.write("\n");
  output.table(rows);
}

function actionRecord(action: OperatorAction): Record<string, unknown> {
  const { actionId, at, actor, name, target, details, failure, repeatOf } = action;
  return {
    action_id: actionId,
    at,
    actor: actor.name,
    account_id: actor.accountId ?? null,
    action: name,
    target,
    failure: failure ?? null,
    repeats: repeatOf ?? null,
    details,
  };
}

function failureRecord({ txSignature, kind, accountId, quoteId, amount, reason, at }: ExplainedFailure) {
  return {
    tx_signature: txSignature,
    at,
    kind,
    amount_usdc: usdcOrNull(amount),
    account_id: accountId ?? null,
    quote_id: quoteId ?? null,
    reason,
  };
}

function usdcOrNull(amount: bigint | undefined): string | null {
  return amount === undefined ? null : formatUsdc(amount);
}
