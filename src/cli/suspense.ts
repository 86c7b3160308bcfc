import process from "node:process";
import { InvalidArgumentError, Option, type Command } from "commander";
import type { SuspendedTransfer, SuspenseRecipient, SuspenseStatus } from "../app/treasury/suspense.ts";
import { parseSignature } from "../domain/core/base58.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { otherCellIn } from "../domain/payments/memo.ts";
import { reason } from "./arguments.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";
import { limitOption, printPage, type PageOptions } from "./page.ts";

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
