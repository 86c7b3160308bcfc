import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import process from "node:process";
import { InvalidArgumentError, type Command } from "commander";
import { ConfigError } from "../config/config.ts";
import { formatUsdc } from "../domain/core/money.ts";
import type { Postgres } from "../postgres/index.ts";
import { CommandError, outputFor, timestamp } from "./command.ts";
import { withPostgres, type CommandConfig } from "./database.ts";
import { type OperatorLog, readOperatorLog, readRequestLog } from "./log-files.ts";
import { commandActor } from "./operator-log.ts";

/** Reports a file that does not exist: the first action creates it. */
function isThere(file: string): boolean {
  const there = existsSync(file);
  if (!there) process.stderr.write(`${file} does not exist: nothing is known from it.\n`);
  return there;
}

/** How long a leader's lease may last that was restored with the database, ms. */
const [RESTORED_LEASE_MS, PAUSE_MS] = [10_000, 1_000];

/** How long this command keeps gateways from watching the treasury, ms. */
const LEASE_MS = 60_000;

interface Options {
  readonly operatorLog?: readonly string[];
  readonly requestLog?: readonly string[];
  readonly revokeKeysSince?: Date;
  readonly acceptDifference?: boolean;
  readonly json?: boolean;
}

interface Finding {
  readonly finding: string;
  readonly id: string;
  readonly account_id?: string | undefined;
  readonly amount_usdc?: string | undefined;
  readonly at?: string | Date | undefined;
  readonly details?: string | undefined;
}

/** `after-restore` */
export function addAfterRestoreCommand(program: Command): void {
  program
    .command("after-restore")
    .description(
      "reconciles a database restored from a backup with the chain, revokes keys again, and lists what is " +
        "gone; serve refuses to start before; needs SOLANA_RPC_URLS and TREASURY_OWNER, or a running dev",
    )
    .option("--operator-log <file...>", "OPERATOR_LOG files: revokes their keys, lists actions that are gone")
    .option("--request-log <file...>", "logs of gateways: lists charges that are gone")
    .option("--revoke-keys-since <timestamp>", "revoke every key that was created or used since", past)
    .option("--accept-difference", "serve although chain and ledger differ")
    .option("--json", "print JSON lines")
    .action((options: Options) => withPostgres((postgres, config) => run(postgres, config, options)));
}

async function run(postgres: Postgres, config: CommandConfig, options: Options): Promise<void> {
  const { treasuryLedger, restores, operatorActions } = postgres;
  const log = await readOperatorLog((options.operatorLog ?? []).filter(isThere));
  const restored = await restores.mark();
  await requireNoGateway(postgres);
  try {
    const findings: Finding[] = [
      ...(await revokeKeys(postgres, log, options)),
      ...(await goneActions(postgres, log)),
      ...(await goneCharges(postgres, options)),
    ];
    const { records, difference } = await reconcile(postgres, config);
    for (const { entry, recorded, change, accountId } of records)
      findings.push({
        finding: recorded,
        id: entry.txSignature,
        account_id: accountId,
        amount_usdc: formatUsdc(change),
        at: entry.blockTime,
      });
    print(findings, options.json ?? false);
    if (difference !== 0n && !options.acceptDifference)
      throw new CommandError(
        `The treasury holds ${formatUsdc(difference)} USDC more than the ledger expects: check ` +
          "SOLANA_RPC_URLS and run this again; --accept-difference serves anyway.",
      );
    // Later seals of the log are gone with what was lost: audit --log does not expect them.
    const lastSeal = (await postgres.seals()).at(-1)?.number ?? 0;
    const details = {
      findings: findings.length,
      difference_usdc: formatUsdc(difference),
      last_seal: lastSeal,
    };
    if (restored)
      await operatorActions.record({
        actor: commandActor(),
        name: "database.reconcile",
        target: restored.mark,
        details,
        idempotencyKey: undefined,
      });
    if (!options.json)
      process.stderr.write(
        restored
          ? "serve starts again; restart gateways that still run.\n"
          : "This database is not marked as restored.\n",
      );
  } finally {
    await treasuryLedger.releaseLeadership();
  }
}

/** @throws CommandError while a gateway runs on the database */
async function requireNoGateway({ treasuryLedger }: Postgres): Promise<void> {
  for (let waitedMs = 0; !(await treasuryLedger.acquireLeadership(LEASE_MS)); waitedMs += PAUSE_MS) {
    if (waitedMs >= RESTORED_LEASE_MS)
      throw new CommandError("A gateway runs on this database: stop every gateway, then run this again.");
    await sleep(PAUSE_MS);
  }
}

async function revokeKeys(
  { apiKeys }: Postgres,
  { revoked }: OperatorLog,
  options: Options,
): Promise<Finding[]> {
  const since = options.revokeKeysSince?.getTime() ?? Number.POSITIVE_INFINITY;
  if (revoked.size === 0 && since === Number.POSITIVE_INFINITY) return [];
  const findings: Finding[] = [];
  for (const { keyId, accountId, createdAt, lastUsedAt, revokedAt } of await apiKeys.list(undefined)) {
    const used = Math.max(createdAt.getTime(), lastUsedAt?.getTime() ?? 0);
    if (revokedAt !== undefined || (used < since && !revoked.has(keyId))) continue;
    await apiKeys.revoke(keyId);
    findings.push({ finding: "key revoked", id: keyId, account_id: accountId, at: revoked.get(keyId) });
  }
  return findings;
}

async function goneActions({ restores }: Postgres, { actions }: OperatorLog): Promise<Finding[]> {
  const gone = new Set(await restores.missingActions([...actions.keys()]));
  return [...actions]
    .filter(([id]) => gone.has(id))
    .map(([id, { at, action, target, details }]) => ({
      finding: "action gone",
      id,
      at,
      details: `${action} ${target} ${JSON.stringify(details)}`,
    }));
}

async function goneCharges({ restores }: Postgres, options: Options): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const charges of readRequestLog(options.requestLog ?? [])) {
    for (const id of await restores.missingReceipts([...charges.keys()])) {
      const charge = charges.get(id);
      findings.push({ finding: "charge gone", id, account_id: charge?.account_id, details: charge?.tool });
    }
  }
  return findings;
}

/** @throws ConfigError without SOLANA_RPC_URLS and TREASURY_OWNER */
async function reconcile(postgres: Postgres, config: CommandConfig) {
  const { SOLANA_RPC_URLS, TREASURY_OWNER } = config;
  const missing = Object.entries({ SOLANA_RPC_URLS, TREASURY_OWNER }).filter(([, value]) => !value);
  if (SOLANA_RPC_URLS === undefined || TREASURY_OWNER === undefined)
    throw new ConfigError(missing.map(([name]) => `${name}: is not set; after-restore needs it`));
  const { reconcileWithChain } = await import("../gateway/reconcile-restored.ts");
  return reconcileWithChain(postgres, { ...config, SOLANA_RPC_URLS, TREASURY_OWNER });
}

function print(findings: readonly Finding[], json: boolean): void {
  const rows = findings.map(({ finding, id, account_id, amount_usdc, at, details }) => ({
    finding,
    id,
    account_id: account_id ?? null,
    amount_usdc: amount_usdc ?? null,
    at: at ?? null,
    details: details ?? null,
  }));
  if (rows.length > 0) outputFor(json).table(rows);
}

function past(text: string): Date {
  const at = timestamp(text);
  if (at.getTime() <= Date.now()) return at;
  throw new InvalidArgumentError("must be a timestamp in the past, such as 2027-01-31T12:00:00Z");
}
