import { auditDatabase } from "../../src/postgres/operations/audit-database.ts";
import { query } from "../support/database-server.ts";
import { PAID_CALL } from "./http-request.ts";
import type { ServedGateway } from "./world.ts";

/** Expected ledger after several instances used it. */
interface ExpectedLedger {
  readonly url: string;
  /** Starting balance of every account, micro-USD. */
  readonly startingBalance: bigint;
  readonly accounts: number;
  /** Price of a call, micro-USD. */
  readonly price: bigint;
}

/**
 * @throws Error unless every answered call has its receipt, the balances add up, and the audit finds nothing
 */
export async function checkLedger(
  books: ExpectedLedger,
  answered: number,
  signal: AbortSignal,
): Promise<void> {
  const { url, startingBalance, accounts, price } = books;
  const { rows } = await query(
    url,
    `select (select count(*)::integer from receipt) as receipts, (select sum(available)::text
        from account) as available,
            (select count(*)::integer from run where status = 'active') as active`,
  );
  const { receipts, available, active } = rows[0];
  if (receipts !== answered)
    throw new Error(`${answered} calls were answered, and there are ${receipts} receipts`);
  if (active !== 0) throw new Error(`${active} calls are still active`);
  const left = startingBalance * BigInt(accounts) - price * BigInt(answered);
  if (BigInt(available) !== left) throw new Error(`the balances add up to ${available}, not to ${left}`);
  const violated = (await auditDatabase(url, signal)).filter(({ violations }) => violations > 0n);
  if (violated.length > 0)
    throw new Error(`the audit found violations: ${violated.map(({ name }) => name).join(", ")}`);
}

/**
 * Sends the same call with the same idempotency key to all instances at once.
 * @returns charged calls: one per round
 * @throws Error if two responses of a round differ
 */
export async function callAllWithSameKey(
  gateways: readonly ServedGateway[],
  apiKey: string,
  rounds: number,
): Promise<number> {
  for (let round = 0; round < rounds; round++) {
    const call = { ...PAID_CALL, idempotency_key: `everywhere ${round}` };
    const answers = await Promise.all(
      gateways.flatMap(({ httpPort }) => [
        untilAnswered(httpPort, apiKey, call),
        untilAnswered(httpPort, apiKey, call),
      ]),
    );
    if (new Set(answers).size !== 1) throw new Error(`one key was answered in ${new Set(answers).size} ways`);
  }
  return rounds;
}

/** The answer of a call that may be under way elsewhere. */
async function untilAnswered(port: number, apiKey: string, call: object): Promise<string> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/mcp/tools/call`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(call),
    });
    const body = await response.text();
    if (response.status === 200) return body;
    if (response.status !== 409) throw new Error(`expected 200 or 409, got ${response.status}: ${body}`);
  }
}
