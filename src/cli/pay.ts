import process from "node:process";
import type { Command } from "commander";
import { readConfig, readEnvironment } from "../config/config.ts";
import type { DevPayment } from "../dev/pay.ts";
import { ToolgateError } from "../domain/core/errors.ts";
import { formatUsdc, type MicroUsd } from "../domain/core/money.ts";
import { usdc, CommandError, outputFor } from "./command.ts";
import { quotesOf, withPostgres } from "./database.ts";

interface PayOptions {
  usdc?: MicroUsd;
  memo?: string;
  json?: boolean;
}

/** `pay`: pays from the development wallet, for manual tests. */
export function addPayCommand(program: Command): void {
  program
    .command("pay")
    .description(
      "pays a quote from the development wallet on the local chain and prints the X-Payment value; " +
        "without a quote, pays any amount and prints the transaction signature",
    )
    .argument("[quote_id]", "quote_id of a 402 response")
    .option("--usdc <amount>", "amount in USDC, e.g. 0.25 (default: the quote's price)", usdc)
    .option("--memo <text>", "memo of a payment without a quote (default: none)")
    .option("--json", "print JSON")
    .action(pay);
}

async function pay(quoteId: string | undefined, options: PayOptions, command: Command): Promise<void> {
  if (quoteId === undefined) return payFreely(options, command);
  if (options.memo !== undefined)
    command.error("error: --memo requires a payment without a quote: a quote sets its own memo");
  await withPostgres(async (postgres, config) => {
    const quote = quotesOf(postgres, config).open(quoteId);
    if (!quote)
      throw new ToolgateError(
        "NOT_FOUND",
        "this is not a quote of the running dev; copy quote.quote_id from its 402 response",
      );
    const amount = options.usdc ?? quote.price;
    const tx = await send(config.DATA_DIR, { amount, memo: `${config.MEMO_PREFIX}:${quoteId}` });
    const xPayment = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
    if (options.json) outputFor(true).record({ tx_signature: tx, x_payment: xPayment });
    else process.stdout.write(`${xPayment}\n`);
  });
}

/** Sends a payment without a quote. */
async function payFreely({ usdc: amount, memo, json }: PayOptions, command: Command): Promise<void> {
  if (amount === undefined)
    return command.error("error: give a quote_id, or --usdc for a payment without a quote");
  const tx = await send(readConfig(readEnvironment()).DATA_DIR, { amount, memo });
  if (json) return outputFor(true).record({ tx_signature: tx });
  process.stdout.write(`${tx}\n`);
  process.stderr.write(
    `Sent ${formatUsdc(amount)} USDC. It is final in about 15 s; ` +
      "then suspense list shows it, unless its memo names a quote or deposit.\n",
  );
}

async function send(dataDir: string, payment: DevPayment): Promise<string> {
  const { DevPaymentError, payFromDevWallet } = await import("../dev/pay.ts");
  return payFromDevWallet(dataDir, payment).catch((error: unknown) => {
    throw error instanceof DevPaymentError ? new CommandError(error.message, { cause: error }) : error;
  });
}
