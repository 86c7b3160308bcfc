import process from "node:process";
import { type Command, InvalidArgumentError, Option } from "commander";
import { ConfigError, type Config, collectSecrets } from "../config/config.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { createLogger } from "../log.ts";
import { systemClock } from "../system.ts";
import type {
  SuspendedTransfer,
  SuspenseRecipient,
  SuspenseStatus,
} from "../app/treasury/treasury-ledger.ts";
import { parseSignature } from "../domain/core/base58.ts";
import { otherCellIn } from "../domain/payments/memo.ts";
import { withPostgres } from "./database.ts";
import { outputFor, limitOption, printPage, type PageOptions, reason } from "./command.ts";

/** `treasury show` */
export function addTreasuryCommands(program: Command): void {
  program
    .command("treasury")
    .description("shows the treasury")
    .command("show")
    .description(
      "shows the expected treasury balance, the last recorded slot, suspense, and the fee payer's balance; " +
        "needs TREASURY_OWNER, or a running dev",
    )
    .option("--json", "print JSON")
    .action(async (options: { json?: boolean }) => show(options.json ?? false));
}

async function show(json: boolean): Promise<void> {
  await withPostgres(async ({ treasuryLedger: treasuryBooks, relays }, config) => {
    const { TREASURY_OWNER: owner } = config;
    if (owner === undefined) throw new ConfigError(["TREASURY_OWNER: is not set; treasury show needs it"]);
    const { treasuryOf } = await import("../solana/core/treasury.ts");
    const { tokenAccount } = treasuryOf(owner);
    const [watch, suspended, relayed, feePayer] = await Promise.all([
      treasuryBooks.watch(tokenAccount),
      treasuryBooks.suspended(),
      relays.spentToday(),
      feePayerOf({ ...config, TREASURY_OWNER: owner }),
    ]);
    outputFor(json).record({
      token_account: tokenAccount,
      opening_usdc: watch === undefined ? null : formatUsdc(watch.opening),
      expected_usdc: watch === undefined ? null : formatUsdc(watch.expected),
      slot: watch?.slot ?? null,
      looked_at: watch?.checkedAt ?? null,
      suspense_count: suspended.count,
      suspense_usdc: formatUsdc(suspended.amount),
      fee_payer: feePayer?.address ?? null,
      fee_payer_lamports: feePayer?.lamports ?? null,
      relay_lamports_today: relayed,
    });
    if (watch === undefined)
      process.stderr.write("This account is not watched yet: serve starts the watch.\n");
  });
}

/** Time limit for the RPC endpoints, ms. */
const LIMIT_MS = 15_000;

/**
 * Returns the relay's fee payer and balance; undefined when gasless is off. Failures leave the balance
 * undefined.
 */
async function feePayerOf(config: Config & { TREASURY_OWNER: string }) {
  const { openSponsor } = await import("../gateway/relay.ts");
  const { SOLANA_RPC_URLS: urls = [] } = config;
  try {
    const sponsor = await openSponsor(config);
    if (!sponsor) return undefined;
    if (urls.length === 0) return { address: sponsor.feePayer, lamports: undefined };
    const [{ SolanaRelayChain }, { SolanaRpc }] = await Promise.all([
      import("../solana/index.ts"),
      import("../solana/rpc/rpc.ts"),
    ]);
    const log = createLogger("error", { secrets: collectSecrets(config) });
    const chain = new SolanaRelayChain(new SolanaRpc(urls, { clock: systemClock, log, attemptMs: 3_000 }));
    const lamports = await chain
      .balance(sponsor.feePayer, AbortSignal.timeout(LIMIT_MS))
      .catch(() => undefined);
    if (lamports === undefined)
      process.stderr.write("No endpoint of SOLANA_RPC_URLS returned the fee payer's balance.\n");
    return { address: sponsor.feePayer, lamports };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.problems.join("\n")}\n`);
    return undefined;
  }
}

interface ListOptions extends PageOptions {
  status?: SuspenseStatus;
}

interface AssignOptions {
  tx: string;
  account?: string;
  operator?: boolean;
  reason: string;
  json?: boolean;
}

/** `suspense list | assign` */
export function addSuspenseCommands(program: Command): void {
  const suspense = program.command("suspense").description("manages treasury transfers that name no quote");

  suspense
    .command("list")
    .description(
      "lists the transfers, newest first; with --json a last line has next_cursor if there are more",
    )
    .addOption(
      new Option("--status <status>", "only transfers with this status").choices(["open", "assigned"]),
    )
    .addOption(limitOption("transfers"))
    .option("--cursor <cursor>", "continue after the previous page")
    .option("--json", "print JSON lines")
    .action(list);

  suspense
    .command("assign")
    .description("assigns a transfer once; the ledger keeps the reason, and a repeat changes nothing")
    .requiredOption("--tx <signature>", "signature of the transaction", signature)
    .option("--account <id>", "account whose balance is credited")
    .option("--operator", "the operator's own money: no balance is credited")
    .requiredOption("--reason <text>", "why", reason)
    .option("--json", "print JSON")
    .action(assign);
}

async function list({ status, limit, cursor, json = false }: ListOptions): Promise<void> {
  const page = await withPostgres(async (postgres, { CELL }) => {
    const transfers = await postgres.suspense.list({ status, limit, cursor });
    return {
      ...transfers,
      items: transfers.items.map((item) => ({ ...item, cell: otherCellIn(item.memos ?? "", CELL) })),
    };
  });
  const nothing = `There are no ${status === undefined ? "" : `${status} `}transfers in suspense.`;
  printPage(page, { json, record: transferRecord, nothing });
  if (!json && page.items.some((item) => item.status === "open"))
    process.stderr.write(
      "To assign a transfer: suspense assign --tx SIGNATURE (--account ID | --operator) --reason TEXT\n",
    );
}

async function assign({ tx, reason, json = false, ...to }: AssignOptions, command: Command): Promise<void> {
  const owner = ownerOf(to);
  if (owner === undefined) return command.error("error: give either --account or --operator");
  const transfer = await withPostgres((postgres) =>
    postgres.suspense.assign({ txSignature: tx, to: owner, reason }),
  );
  outputFor(json).record(transferRecord(transfer));
}

function ownerOf({
  account,
  operator = false,
}: Pick<AssignOptions, "account" | "operator">): SuspenseRecipient | undefined {
  if ((account !== undefined) === operator) return undefined;
  return account === undefined ? "operator" : { accountId: account };
}

function transferRecord(
  transfer: SuspendedTransfer & { cell?: number | undefined },
): Record<string, unknown> {
  const { txSignature, amount, memos, payer, blockTime, status, assignedTo, reason } = transfer;
  return {
    tx_signature: txSignature,
    amount_usdc: formatUsdc(amount),
    block_time: blockTime,
    payer: payer ?? null,
    status,
    assigned_to: (typeof assignedTo === "object" ? assignedTo.accountId : assignedTo) ?? null,
    reason: reason ?? null,
    memos: memos ?? null,
    ...(transfer.cell !== undefined && { cell: transfer.cell }),
  };
}

function signature(text: string): string {
  if (!parseSignature(text))
    throw new InvalidArgumentError("must be a transaction signature (base58 of 64 bytes)");
  return text;
}
