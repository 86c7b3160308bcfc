import process from "node:process";
import type { Command } from "commander";
import { formatUsdc } from "../domain/core/money.ts";
import { reason } from "./arguments.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

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
