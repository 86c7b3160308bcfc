import process from "node:process";
import type { Command } from "commander";
import { Stories, type StoryEvent } from "../app/operations/story.ts";
import { cellOf } from "../domain/core/cell.ts";
import { formatUsdc } from "../domain/core/money.ts";
import { Quotes } from "../domain/payments/quote.ts";
import { systemClock, systemRandom } from "../system.ts";
import { withPostgres } from "./database.ts";
import { outputFor } from "./output.ts";

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
      const events = await withPostgres((postgres, { QUOTE_TTL_SECONDS: ttl, CELL: cell }) => {
        const quotes = new Quotes(postgres.sealingKeys, systemClock, systemRandom, ttl, cellOf(cell));
        return new Stories(postgres.stories, quotes).find(id);
      });
      if (json) outputFor(true).table(events.map(recordOf));
      else for (const event of events) process.stdout.write(textOf(event));
    });
}

function recordOf({ at, event, id, accountId, amount, details }: StoryEvent): Record<string, unknown> {
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
function textOf({ at, event, id, accountId, amount, details }: StoryEvent): string {
  const usdc = amount === undefined ? [] : [`${formatUsdc(amount)} USDC`];
  const head = [at.toISOString(), event.padEnd(20), id, ...usdc].join("  ");
  const members = Object.entries({ ...(accountId !== undefined && { account_id: accountId }), ...details });
  return [head, ...members.map(([name, value]) => `    ${name}: ${value}`), ""].join("\n");
}
