import { Lru } from "../../domain/core/lru.ts";
import { parseMemo, otherCellIn } from "../../domain/payments/memo.ts";
import { type MicroUsd, formatUsdc } from "../../domain/core/money.ts";
import { ANY_WALLET, type Quotes } from "../../domain/payments/quote.ts";
import type { WalletAccounts } from "../accounts/accounts.ts";
import type { DepositAccounts } from "../deposits/deposits.ts";
import type { Metrics } from "../operations/metrics.ts";
import type {
  HistoryEntry,
  Movement,
  TreasuryChain,
  AttributedMovement,
  RecordResult,
  TreasuryLedger,
} from "../treasury/treasury-ledger.ts";
import type { Log } from "../../domain/core/log.ts";

/** Transactions fetched concurrently. */
const AT_ONCE = 8;

/** Signatures per database query. */
const BATCH = 1_000;

/** Capacity of the cache of settled signatures. */
const REMEMBERED = 50_000;

export interface RecordDeps {
  readonly chain: Pick<TreasuryChain, "tokenAccount" | "movement">;
  readonly ledger: Pick<TreasuryLedger, "unrecorded" | "record">;
  readonly quotes: Pick<Quotes, "find">;
  readonly deposits: DepositAccounts;
  readonly wallets: Pick<WalletAccounts, "open">;
  readonly memoPrefix: string;
  /** Transactions that need no further check: recorded, or without effect on the treasury. */
  readonly settled: SettledTransactions;
  readonly cell?: number;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** A bounded set of signatures, so that transactions which merely name the treasury are fetched once. */
export type SettledTransactions = Lru<string, true>;

export function newSettledTransactions(): SettledTransactions {
  return new Lru(REMEMBERED);
}

export interface NewRecord {
  readonly entry: HistoryEntry;
  readonly recorded: RecordResult;
  /** Change of the treasury's balance, micro-USD. */
  readonly change: bigint;
  /** Whose quote or deposit its memo names. */
  readonly accountId: string | undefined;
}

/**
 * Records what these transactions, oldest first, did to the treasury. Idempotent. One failure does not
 * block the others.
 * @returns the new records
 * @throws AggregateError after all other transactions were recorded
 */
export async function recordHistory(
  deps: RecordDeps,
  entries: readonly HistoryEntry[],
  signal: AbortSignal,
): Promise<NewRecord[]> {
  const records: NewRecord[] = [];
  const failures: unknown[] = [];
  const missing = await missingOf(deps, entries, signal);
  for (let at = 0; at < missing.length; at += AT_ONCE) {
    const some = missing.slice(at, at + AT_ONCE);
    const movements = await Promise.allSettled(some.map((each) => movementOf(deps, each, signal)));
    for (const [index, { entry }] of some.entries()) {
      signal.throwIfAborted();
      try {
        const movement = valueOf(movements[index]);
        const recorded = await recordOne(deps, movement);
        const { change, attribution } = movement;
        if (recorded !== undefined && recorded !== "known")
          records.push({ entry, recorded, change, accountId: attribution?.accountId });
      } catch (error) {
        failures.push(error);
      }
    }
  }
  if (failures.length > 0) {
    throw new AggregateError(
      failures,
      `${failures.length} of ${missing.length} new transactions could not be recorded`,
    );
  }
  return records;
}

/**
 * Records one finalized transaction at once, as the treasury watch would later.
 * @throws when it cannot be recorded now
 */
export async function recordTransaction(
  deps: RecordDeps,
  txSignature: string,
  signal: AbortSignal,
): Promise<void> {
  await recordHistory(deps, [{ txSignature, slot: 0n, blockTime: undefined, failed: false }], signal);
}

interface Missing {
  readonly entry: HistoryEntry;
  readonly credited: MicroUsd | undefined;
}

async function missingOf(
  deps: RecordDeps,
  entries: readonly HistoryEntry[],
  signal: AbortSignal,
): Promise<Missing[]> {
  const { ledger, chain, settled } = deps;
  const open = entries.filter(({ failed, txSignature }) => !failed && settled.get(txSignature) === undefined);
  const missing: Missing[] = [];
  for (let at = 0; at < open.length; at += BATCH) {
    signal.throwIfAborted();
    const some = open.slice(at, at + BATCH);
    const signatures = some.map(({ txSignature }) => txSignature);
    const unrecorded = await ledger.unrecorded(chain.tokenAccount, signatures);
    const amounts = new Map(unrecorded.map(({ txSignature, credited }) => [txSignature, credited]));
    for (const entry of some) {
      if (amounts.has(entry.txSignature)) missing.push({ entry, credited: amounts.get(entry.txSignature) });
      else settled.set(entry.txSignature, true);
    }
  }
  return missing;
}

/** A payment with a verified proof is already known and is not fetched again. */
async function movementOf(
  deps: RecordDeps,
  { entry, credited }: Missing,
  signal: AbortSignal,
): Promise<AttributedMovement> {
  const { txSignature, slot, blockTime } = entry;
  if (credited !== undefined && blockTime !== undefined) {
    const untold = { memo: undefined, memos: undefined, payer: undefined, attribution: undefined };
    return { txSignature, slot, blockTime, change: credited, ...untold };
  }
  const movement = await deps.chain.movement(txSignature, signal);
  return { ...movement, attribution: await ownerOf(deps, movement) };
}

/**
 * Finds the account of the quote or deposit in the memo; for a quote to any wallet, the payer's. Expired
 * quotes and blocked accounts count too.
 */
async function ownerOf(
  { quotes, deposits, wallets, memoPrefix }: RecordDeps,
  { memo, payer }: Movement,
): Promise<AttributedMovement["attribution"]> {
  const named = memo === undefined ? undefined : parseMemo(memo, memoPrefix);
  if (named?.form === "deposit") {
    const accountId = await deposits.accountOf(named.depositId);
    return accountId === undefined ? undefined : { accountId, quoteId: named.depositId };
  }
  const quote = named && (await quotes.find(named.quoteId));
  if (quote?.accountId !== ANY_WALLET) return quote && { accountId: quote.accountId, quoteId: quote.quoteId };
  return payer === undefined
    ? undefined
    : { accountId: (await wallets.open(payer)).accountId, quoteId: quote.quoteId };
}

async function recordOne(deps: RecordDeps, movement: AttributedMovement): Promise<RecordResult | undefined> {
  const recorded =
    movement.change === 0n ? undefined : await deps.ledger.record(deps.chain.tokenAccount, movement);
  deps.settled.set(movement.txSignature, true);
  if (recorded !== undefined) reportRecorded(deps, movement, recorded);
  return recorded;
}

function valueOf(outcome: PromiseSettledResult<AttributedMovement> | undefined): AttributedMovement {
  if (outcome?.status === "fulfilled") return outcome.value;
  throw outcome?.reason;
}

/** Updates metrics and logs events for operators. */
function reportRecorded(
  { metrics, log, cell = 0 }: { metrics: Metrics; log: Log; cell?: number },
  movement: AttributedMovement,
  recorded: RecordResult,
): void {
  const { txSignature, change, attribution, memos } = movement;
  const details = { tx_signature: txSignature, amount_usdc: formatUsdc(change) };
  switch (recorded) {
    case "known":
      return;
    case "finalized":
      metrics.count("toolgate_payments_finalized_total");
      return;
    case "credited":
      metrics.count("toolgate_payments_credited_total");
      log.info(
        { ...details, account: attribution?.accountId },
        attribution?.quoteId.startsWith("dep_") ? "credited a deposit" : "credited a payment without a proof",
      );
      return;
    case "suspended":
      metrics.count("toolgate_payments_suspended_total");
      log.warn(
        { ...details, memos, cell: otherCellIn(memos ?? "", cell) },
        "a transfer names no quote of this gateway and is held in suspense",
      );
      return;
    case "withdrawn":
      log.info(details, "treasury withdrawal recorded");
      return;
    case "reinstated":
      metrics.count("toolgate_payments_reinstated_total");
      log.warn(details, "a reversed payment is finalized after all and was reinstated");
      return;
    case "mismatch":
      metrics.count("toolgate_payments_mismatched_total");
      log.error(
        details,
        "a payment was credited with another amount than the chain reports; nothing was changed",
      );
  }
}
