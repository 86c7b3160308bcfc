import process from "node:process";
import type { Command } from "commander";
import { RequestTimelines, type TimelineEvent } from "../app/operations/request-timeline.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { quotesOf, withPostgres } from "./database.ts";
import { outputFor, reason } from "./command.ts";

/** `find` */
export function addFindCommand(program: Command): void {
  program
    .command("find")
    .description("shows what happened, in order: quote, payment, run, error, charge, refund")
    .argument(
      "<id>",
      "a request_id, run, receipt, quote, deposit, transaction, key (or its start), account or wallet",
    )
    .option("--json", "print JSON lines")
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      const events = await withPostgres((postgres, config) =>
        new RequestTimelines(postgres.timelines, quotesOf(postgres, config)).find(id),
      );
      if (json) outputFor(true).table(events.map(recordOf));
      else for (const event of events) process.stdout.write(textOf(event));
    });
}

function recordOf({ at, event, id, accountId, amount, details }: TimelineEvent): Record<string, unknown> {
  return {
    at,
    event,
    id,
    account_id: accountId ?? null,
    amount_usdc: amount === undefined ? null : formatUsdc(amount),
    details,
  };
}

/** A line for the event, and one for each further member. */
function textOf({ at, event, id, accountId, amount, details }: TimelineEvent): string {
  const usdc = amount === undefined ? [] : [`${formatUsdc(amount)} USDC`];
  const head = [at.toISOString(), event.padEnd(20), id, ...usdc].join("  ");
  const members = Object.entries({ ...(accountId !== undefined && { account_id: accountId }), ...details });
  return [head, ...members.map(([name, value]) => `    ${name}: ${value}`), ""].join("\n");
}

/** `receipts refund` */
export function addReceiptCommands(program: Command): void {
  program
    .command("receipts")
    .description("manages receipts")
    .command("refund")
    .description("refunds a receipt to its account, once; the ledger keeps the reason")
    .requiredOption("--receipt <id>", "receipt")
    .requiredOption("--reason <text>", "why", reason)
    .option("--json", "print JSON")
    .action(async (options: { receipt: string; reason: string; json?: boolean }) => {
      const { receipt, refunded } = await withPostgres((postgres) =>
        postgres.refunds.refund({ receiptId: options.receipt, reason: options.reason }),
      );
      outputFor(options.json ?? false).record({
        receipt_id: receipt.receiptId,
        run_id: receipt.runId,
        tool: receipt.tool,
        debited_usdc: formatUsdc(receipt.debited),
        refunded_usdc: formatUsdc(receipt.refunded),
        status: receipt.status,
        refunded_now: refunded,
      });
      if (!refunded) process.stderr.write("Already refunded: nothing changed.\n");
    });
}
