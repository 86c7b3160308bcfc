import process from "node:process";
import type { Command } from "commander";
import { ToolgateError } from "../domain/errors.ts";
import { Quotes } from "../domain/quote.ts";
import { systemClock, systemRandom } from "../system.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

/** `pay`: the demo agent's hand, for walks by hand. */
export function addPayCommand(program: Command): void {
  program
    .command("pay")
    .description(
      "pays a quote from the development wallet on the local chain, and prints the X-Payment value to repeat the call with",
    )
    .argument("<quote_id>", "quote_id of a 402 answer")
    .option("--json", "print JSON")
    .action(async (quoteId: string, options: { json?: boolean }) => {
      await withPostgres(async (postgres, config) => {
        const quote = new Quotes(postgres.sealingKeys, systemClock, systemRandom, config.QUOTE_TTL_SECONDS).open(
          quoteId,
        );
        if (!quote)
          throw new ToolgateError(
            "NOT_FOUND",
            "this is not a quote of the running dev; copy quote.quote_id from its 402 answer",
          );
        const { payFromDevWallet } = await import("../dev/pay.ts");
        const tx = await payFromDevWallet(config.DATA_DIR, quote.price, `${config.MEMO_PREFIX}:${quoteId}`);
        const xPayment = Buffer.from(JSON.stringify({ tx, quote_id: quoteId })).toString("base64url");
        if (options.json) outputFor(true).record({ tx_signature: tx, x_payment: xPayment });
        else process.stdout.write(`${xPayment}\n`);
      });
    });
}
